import ArgumentParser
import PosternConfiguration
import PosternSupport

/// How to reach a running sidecar.
struct SocketOptions: ParsableArguments {
  @Option(
    help: "The socket. Default: $POSTERN_SOCKET, else $XDG_RUNTIME_DIR/postern.sock, else /run/postern/postern.sock.",
    completion: .file())
  var socket: String?

  @Option(help: "Seconds to wait for the answer.")
  var timeout: Double = 60

  func validate() throws {
    guard timeout > 0, timeout <= 86_400 else {
      throw ValidationError("--timeout takes a number of seconds above 0, at most 86400.")
    }
  }

  var path: String { socket ?? ListenConfiguration.defaultSocketPath(environment: ProcessEnvironment.current) }

  var bound: Duration { .milliseconds(Int64(timeout * 1000)) }
}
