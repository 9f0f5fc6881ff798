import ArgumentParser
import CPosternLinux
import CPosternStart
import PosternObservability
import Sidecar

/// `postern`: the sidecar and its tools.
@main
struct PosternCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "postern",
    abstract: "The auth sidecar for your application: JSON-RPC on a Unix socket, keys and tokens kept inside.",
    discussion: """
      Start it with `postern serve`, call it with `postern call getInfo`, or with any tool that can write a line to a \
      Unix socket. When something does not work, `postern doctor` shows what.

      Examples:
        postern check-config postern.yaml
        postern serve --config postern.yaml
        postern call getInfo
        postern help not_authenticated
        curl --unix-socket /run/postern/postern.sock http://postern/health
      """,
    version: version,
    subcommands: [
      Serve.self, CallMethod.self, ExplainMethodCall.self, Login.self, Probe.self, CheckConfiguration.self, Doctor.self,
      JOSECommand.self,
      AuditCommand.self, PrintURL.self, PrintCredential.self, RunProgram.self, PrintOpenRPC.self, PrintOpenAPI.self,
      PrintConfiguration.self,
    ]
  )

  /// Runs `serve` on the main thread, before there is another one: Landlock applies to the thread that enables it and
  /// to threads created later. The other commands run on it too, and exit here: libdispatch, which has threads for the
  /// rest, aborts without /proc.
  @MainActor static func main() async {
    let arguments = arguments
    // `help` is the argument parser's own command, which knows of commands only.
    if arguments.count == 2, arguments[0] == "help", let text = ErrorHelp.text(for: arguments[1]) {
      print(text)
      exit()
    }
    do {
      var command = try parseAsRoot(arguments)
      if let serve = command as? Serve {
        try await serve.run()
      } else if let doctor = command as? Doctor {
        try await doctor.run()
        exit()
      } else {
        try command.run()
        exit()
      }
    } catch {
      exit(withError: error)
    }
  }

  /// The release, and the commit where the build names one (`make release` does).
  private static var version: String {
    let commit = clinux_commit().map { " (\(String(cString: $0)))" } ?? ""
    return "postern \(Product.version)\(commit)"
  }

  /// Fails with EX_USAGE when no command is given: a success would let a probe pass that checked nothing.
  func run() throws { throw ValidationError("A command is needed.") }

  /// The arguments after the program's name. Not from `CommandLine`, which reads /proc and knows of no arguments where
  /// there is none.
  private static var arguments: [String] {
    (1..<max(1, clinux_argument_count())).compactMap { index in
      clinux_argument(index).map { String(cString: $0) }
    }
  }
}
