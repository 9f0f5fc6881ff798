import PosternJSON

/// Distributed tracing.
public struct TelemetryConfiguration: Sendable, Equatable {
  /// What this sidecar is called in traces. Default `postern`.
  public var serviceName: String
  /// Where spans go; nil: nowhere.
  public var otlp: OTLPConfiguration?
}

extension TelemetryConfiguration: ConfigurationSection {
  init(reading keys: SectionReader) {
    serviceName = keys.value("serviceName", .text, default: "postern", "What this sidecar is called in traces.")
    otlp = keys.optionalSection(
      "otlp", OTLPConfiguration.self,
      "An OpenTelemetry collector, spoken to with OTLP over HTTP in JSON. Left out: none.",
      commented: true)
  }
}
