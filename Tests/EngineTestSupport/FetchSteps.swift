/// How the steps of fetches follow each other in tests.
package enum FetchSteps {
  /// Whether a fetch waits behind each of its steps, as if that had to wait for something.
  @TaskLocal package static var wait = false
}
