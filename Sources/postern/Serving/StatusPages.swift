import LocalServer
import Sidecar

/// `/healthz`, `/readyz` and `/metrics`.
struct StatusPages: Sendable {
  /// How long the socket's threads may take to respond.
  private static let patience = Duration.seconds(2)

  let service: SidecarService
  let server: SocketServer

  /// The page at `path`.
  func page(_ path: String) async -> StatusPage? {
    switch path {
    case "/healthz":
      let responds = await server.responds(within: Self.patience)
      let text =
        responds ? #"{"status":"ok"}"# : #"{"status":"down","detail":"a thread of the socket does not respond"}"#
      return StatusPage(status: responds ? 200 : 503, contentType: "application/json", body: Array(text.utf8))
    case "/readyz":
      let readiness = await service.settledReadiness
      return StatusPage(
        status: readiness.isReady ? 200 : 503, contentType: "application/json", body: readiness.report)
    case "/metrics":
      return StatusPage(
        contentType: "text/plain; version=0.0.4; charset=utf-8", body: Array(service.metricsText.utf8))
    default: return nil
    }
  }
}
