import ArgumentParser
import CPosternLinux
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

  /// `serve` begins on the main thread, before there is another one: Landlock holds for the thread it is called on and
  /// those that come after. The others stay on it, and end here: libdispatch, which has threads for the rest, ends a
  /// process that has no /proc.
  @MainActor static func main() async {
    do {
      var command = try parseAsRoot(arguments)
      if let serve = command as? Serve {
        try await serve.run()
      } else {
        try command.run()
        exit()
      }
    } catch {
      exit(withError: error)
    }
  }

  /// Without a command there is nothing to do: that is a wrong use (EX_USAGE), where a success would let a probe pass
  /// that asked nobody.
  func run() throws { throw ValidationError("A command is needed.") }

  /// What stands behind the program's name. Not from `CommandLine`, which reads /proc and knows of no arguments where
  /// there is none.
  private static var arguments: [String] {
    (1..<max(1, clinux_argument_count())).compactMap { place in
      clinux_argument(place).map { String(cString: $0) }
    }
  }
}
