// What happens in `postern` before anything else, its libraries included: `serve` ignores SIGHUP until it handles it.
// There is nothing to call.
