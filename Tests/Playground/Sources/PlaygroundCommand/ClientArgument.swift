import ArgumentParser
import Playground

/// A client as `id=secret`, split at the first equals sign.
struct ClientArgument: ExpressibleByArgument {
  /// The client meant.
  let client: PlaygroundClient

  /// Parses `id=secret`; nil without an equals sign or an id.
  init?(argument: String) {
    let parts = argument.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
    guard parts.count == 2, !parts[0].isEmpty else { return nil }
    client = PlaygroundClient(id: String(parts[0]), secret: String(parts[1]))
  }
}
