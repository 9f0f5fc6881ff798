"use strict";

/**
 * Where the sidecar listens: the caller's choice, `POSTERN_SOCKET`, the user's runtime directory, the system's. A path, or
 * for development an address.
 */
function socketPath(given, environment = process.env) {
  if (given !== undefined) {
    if (typeof given !== "string") throw new TypeError("socketPath must be a path");
    return given;
  }
  if (environment.POSTERN_SOCKET) return environment.POSTERN_SOCKET;
  if (environment.XDG_RUNTIME_DIR) return `${environment.XDG_RUNTIME_DIR}/postern.sock`;
  return "/run/postern/postern.sock";
}

/** The file with the key of the gateway's address: the caller's choice, `POSTERN_KEY_FILE`. */
function keyFile(given, environment = process.env) {
  if (given === undefined) return environment.POSTERN_KEY_FILE || undefined;
  if (typeof given !== "string") throw new TypeError("keyFile must be a path");
  return given;
}

module.exports = { keyFile, socketPath };
