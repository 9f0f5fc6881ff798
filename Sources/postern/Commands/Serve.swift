import ArgumentParser
import PosternConfiguration
import PosternSupport

/// `postern serve`.
struct Serve: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    abstract: "Runs the sidecar in the foreground.",
    discussion: """
      SIGTERM and SIGINT drain: no new requests, pending ones are answered, then exit 0. SIGHUP reads the configuration again.
      A socket passed by systemd (LISTEN_FDS) takes precedence over --socket, and that over listen.path.
      Start, reload and stop are reported to NOTIFY_SOCKET, and a heartbeat as often as WATCHDOG_USEC requires.
      Exit status 78: the configuration has problems, or the limit of open files is too low.

      Examples:
        postern serve
        postern serve --config postern.yaml --socket ./postern.sock
      """
  )

  /// EX_CONFIG of sysexits.h: a restart changes nothing before the file is corrected.
  private static let badConfiguration = ExitCode(78)

  @OptionGroup var configuration: ConfigurationOption

  @Option(help: "Where to listen, instead of the configuration's listen.path.", completion: .file())
  var socket: String?

  func run() async throws {
    let path = try configuration.path()
    do {
      try await ServerProcess(configurationPath: path, socketPath: socket).run()
    } catch let problems as ConfigurationProblems {
      for problem in problems.warnings { FailureNote.print("warning: \(problem.description)") }
      for problem in problems.problems { FailureNote.print(problem.description) }
      throw Self.badConfiguration
    } catch let error as ServerProcess.Failure {
      FailureNote.print(error.description)
      throw ExitCode(error.status)
    }
  }
}
