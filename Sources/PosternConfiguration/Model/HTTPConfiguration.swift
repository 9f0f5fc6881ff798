import PosternJSON

/// The optional HTTP listener for health and metrics.
public struct HTTPConfiguration: Sendable, Equatable {
  /// `host:port`; nil for no listener.
  public var listen: String?
  /// Whether that may be another address than a loopback one. Default false.
  public var beyondLoopback: Bool
}

extension HTTPConfiguration: ConfigurationSection {
  init(reading keys: SectionReader) {
    listen = keys.optional(
      "listen", .listenAddress,
      "Address for /healthz, /readyz and /metrics, a loopback one as a rule. Left out: no listener.",
      example: .commented("127.0.0.1:9464"))
    beyondLoopback = keys.value(
      "beyondLoopback", .boolean, default: false,
      "Whether listen may be another address, as for a Prometheus that scrapes a pod: every program that can reach it can read health and metrics, in the clear."
    )
    guard let listen, !beyondLoopback else { return }
    let host = String(listen.prefix { $0 != ":" || listen.hasPrefix("[") }.prefix { $0 != "]" })
    if host != "localhost", !URLText.isLoopbackAddress(host.hasPrefix("[") ? host + "]" : host) {
      keys.problem("must be a loopback address, unless http.beyondLoopback is true", at: "listen")
    }
  }
}
