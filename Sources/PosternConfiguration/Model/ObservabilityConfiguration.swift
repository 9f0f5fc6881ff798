import HTTPMessages
public import Logging
import PosternJSON
package import PosternObservability
public import PosternSupport

/// Distributed tracing.
public struct TelemetryConfiguration: Sendable, Equatable {
  /// The name of this sidecar in traces. Default `postern`.
  public var serviceName: String
  /// Where spans go; nil: nowhere.
  public var otlp: OTLPConfiguration?
}

extension TelemetryConfiguration: ConfigurationSection {
  package init(reading keys: SectionReader) {
    serviceName = keys.value("serviceName", .text, default: "postern", "Name of this sidecar in traces.")
    otlp = keys.optionalSection(
      "otlp", OTLPConfiguration.self,
      "An OpenTelemetry collector, spoken to with OTLP over HTTP in JSON. Left out: none.",
      commented: true)
    if otlp == nil, serviceName != "postern" { keys.warn("has no effect without otlp", at: "serviceName") }
  }
}

/// An OpenTelemetry collector.
public struct OTLPConfiguration: Sendable, Equatable {
  /// The URL for traces.
  public var endpoint: String
  /// `Name: value` lines that each request carries; nil: none.
  public var headers: ConfiguredSecret<String>?
  /// PEM file of the authorities that may vouch for it; nil for the system's.
  public var caFile: String?
  /// How long one request may take. Default 10 s.
  public var timeout: Duration
  /// How many of the traces that begin here are sampled. Default 1: all.
  public var sampleRatio: Double

  /// The headers, taken apart.
  public var headerFields: [(name: String, value: String)] { Self.fields(headers?.value.reveal() ?? "") ?? [] }

  /// The lines of `text` as names and values; nil when one is not `Name: value` in visible ASCII.
  private static func fields(_ text: String) -> [(name: String, value: String)]? {
    var fields: [(name: String, value: String)] = []
    for line in text.split(separator: "\n") {
      let parts = line.split(separator: ":", maxSplits: 1)
      guard parts.count == 2, parts[0].utf8.allSatisfy({ $0 > 0x20 && $0 < 0x7F }) else { return nil }
      let value = parts[1].drop { $0 == " " }
      guard !value.isEmpty, value.utf8.allSatisfy({ $0 >= 0x20 && $0 < 0x7F }) else { return nil }
      fields.append((String(parts[0]), String(value)))
    }
    return fields
  }
}

extension OTLPConfiguration: ConfigurationSection {
  package init(reading keys: SectionReader) {
    endpoint = keys.required(
      "endpoint", .collector, "The collector's URL for traces. https, or http on a loopback address.",
      example: .shown("http://127.0.0.1:4318/v1/traces"))
    headers = keys.secret(
      "headers", .text, "File with lines Name: value that each request carries, such as Authorization. Left out: none.",
      exampleFile: .shown("/run/secrets/collector-headers"))
    caFile = keys.optional(
      "caFile", .file, "PEM file of certificate authorities to trust instead of the system's.",
      example: .commented("/etc/postern/collector-ca.pem"))
    timeout = keys.value(
      "timeout", .duration(.seconds(1)...(.seconds(60))), default: .seconds(10), "How long one request may take.")
    sampleRatio = keys.value(
      "sampleRatio", .number(above: 0, upTo: 1), default: 1,
      "How many of the traces that begin here are sampled; a caller's traceparent decides for itself.")
    if let headers, Self.fields(headers.value.reveal()) == nil {
      keys.problem("each line must be Name: value, in visible ASCII", at: "headersFile")
    }
  }
}

/// Logging.
public struct LogConfiguration: Sendable, Equatable {
  /// The lowest level that is logged. Default `info`.
  public var level: Logger.Level
  /// The form of the lines. Default `json`.
  package var format: LogFormat
  /// Whether each call is logged at `info`. Default false.
  public var access: Bool
}

extension LogConfiguration: ConfigurationSection {
  package init(reading keys: SectionReader) {
    level = keys.value(
      "level", .choice(Logger.Level.self, placeholder: .info), default: .info, "Lowest level that is logged.")
    format = keys.value(
      "format", .choice(LogFormat.self, placeholder: .json), default: .json,
      "json: one object a line; text: for people.")
    access = keys.value(
      "access", .boolean, default: false,
      "Whether each call is a line at info, with its sizes; else it is one at debug, without.")
    if access, level > .info { keys.warn("has no effect: its lines are at info, below level", at: "access") }
  }
}

/// The optional HTTP listener for health and metrics.
public struct HTTPConfiguration: Sendable, Equatable {
  /// `host:port`; nil for no listener.
  public var listen: String?
  /// Whether that may be another address than a loopback one. Default false.
  public var beyondLoopback: Bool
}

extension HTTPConfiguration: ConfigurationSection {
  package init(reading keys: SectionReader) {
    listen = keys.optional(
      "listen", .listenAddress,
      "Address for /healthz, /readyz and /metrics, a loopback one as a rule. Left out: no listener.",
      example: .commented("127.0.0.1:9464"))
    beyondLoopback = keys.value(
      "beyondLoopback", .boolean, default: false,
      "Whether listen may be another address, as for a Prometheus that scrapes a pod: every program that can reach it can read health and metrics, in the clear."
    )
    if beyondLoopback, listen == nil { keys.warn("has no effect without listen", at: "beyondLoopback") }
    guard let listen, !beyondLoopback else { return }
    let host = String(listen.prefix { $0 != ":" || listen.hasPrefix("[") }.prefix { $0 != "]" })
    if host != "localhost", !HTTPHost.isLoopbackAddress(host.hasPrefix("[") ? host + "]" : host) {
      keys.problem("must be a loopback address, unless http.beyondLoopback is true", at: "listen")
    }
  }
}
