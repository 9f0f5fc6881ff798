import ArgumentParser
import Sidecar

/// `postern`: the sidecar and its tools.
@main
struct PosternCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "postern",
    abstract: "The auth sidecar beside your application: JSON-RPC on a Unix socket, keys and tokens kept inside.",
    discussion: """
      Start it with `postern serve --config postern.yaml`, ask it with `postern call getInfo`, or with any tool that \
      can write a line to a Unix socket:
        echo '{"jsonrpc":"2.0","id":1,"method":"getInfo"}' | socat -t 30 - UNIX-CONNECT:/run/postern/postern.sock
      """,
    version: "postern \(Product.version)",
    subcommands: [
      Serve.self, CallMethod.self, Login.self, Probe.self, CheckConfiguration.self, JOSECommand.self, AuditCommand.self,
      PrintOpenRPC.self, PrintConfiguration.self,
    ]
  )

  /// `serve` begins on the main thread, before there is another one: Landlock holds for the thread it is called on and those that come after.
  /// All else, and what cannot be parsed, goes ArgumentParser's way.
  @MainActor static func main() async {
    guard let serve = try? parseAsRoot() as? Serve else { return await main(nil) }
    do {
      try await serve.run()
    } catch {
      exit(withError: error)
    }
  }
}
