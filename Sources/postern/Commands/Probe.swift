import ArgumentParser
import PosternJSON

/// `postern probe`: for exec probes of containers, where neither socat nor curl is available.
struct Probe: ParsableCommand {
  static let configuration = CommandConfiguration(
    abstract: "Exits 0 when the sidecar answers, 1 when it does not.",
    discussion: """
      With --ready it must also be able to do its work: health is not "down". Prints nothing when all is well.

      Examples:
        postern probe
        postern probe --ready --timeout 5
      """
  )

  @Option(help: "The socket. Default as for `call`.", completion: .file())
  var socket: String?

  @Option(help: "Seconds to wait for the answer.")
  var timeout: Double = 2

  @Flag(help: "Check readiness, not only liveness.")
  var ready = false

  func run() throws {
    var options = SocketOptions()
    options.socket = socket
    options.timeout = timeout
    try options.validate()
    do {
      // For liveness any answer will do, an error too; readiness needs the report.
      let method: JSONValue = ready ? "health" : "getInfo"
      let answer = try CallMethod.exchange(["jsonrpc": "2.0", "id": 1, "method": method], options)
      if !ready { return }
      guard let status = answer["result"]?["status"]?.stringValue else {
        throw SocketClient.Failure(
          description: "health was rejected: \(JSONWriter().string(answer["error"] ?? answer))")
      }
      if status == "down" {
        throw SocketClient.Failure(description: "health is down: \(JSONWriter().string(answer["result"] ?? answer))")
      }
    } catch {
      FailureNote.print("\(error)")
      throw ExitCode(1)
    }
  }
}
