import JSON

/// The optional HTTP listener for health and metrics.
public struct HTTPConfiguration: Sendable, Equatable {
  /// `host:port` on a loopback address; nil for no listener.
  public var listen: String?
}

extension HTTPConfiguration: ConfigurationSection {
  init(reading keys: SectionReader) {
    listen = keys.optional(
      "listen", .loopbackAddress, "Loopback address for /healthz, /readyz and /metrics. Left out: no listener.",
      example: .commented("127.0.0.1:9464"))
  }
}
