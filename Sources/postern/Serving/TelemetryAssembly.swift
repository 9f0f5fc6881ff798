import Glibc
import HTTPMessages
import Logging
import PosternConfiguration
import PosternObservability
import PosternSupport
import Sidecar

/// Makes the exporter of spans of the configuration.
enum TelemetryAssembly {
  /// How long spans that wait may take at the end.
  static let patience = Duration.seconds(5)

  /// An exporter over `transport`; nil without a collector.
  static func exporter(
    _ configuration: TelemetryConfiguration, _ transport: any HTTPTransport, _ logger: Logger
  ) throws(ConfigurationProblems) -> SpanExporter? {
    guard let otlp = configuration.otlp else { return nil }
    let endpoint: HTTPURL
    do throws(HTTPURLError) {
      endpoint = try HTTPURL(otlp.endpoint)
    } catch {
      let problem = ConfigurationProblem(
        file: "configuration", keyPath: "telemetry.otlp.endpoint", message: "is not usable: \(error.phrase)")
      throw ConfigurationProblems([problem])
    }
    let fields = HTTPFields(otlp.headerFields.map { HTTPFields.Field(name: $0.name, value: $0.value) })
    let instance = (0..<2).map { _ in String(NonSecretRandom.shared.next(), radix: 16) }.joined()
    return SpanExporter(
      SpanExporter.Settings(endpoint: endpoint, fields: fields, caFile: otlp.caFile, timeout: otlp.timeout),
      resource: TelemetryResource(
        serviceName: configuration.serviceName, serviceVersion: Product.version, instanceID: instance,
        processID: Int64(getpid())),
      transport: transport, clock: SystemClock()
    ) { event in
      switch event {
      case .failing(let reason):
        logger.warning("the collector takes no spans", metadata: .of([.error: .string(reason)]))
      case .recovered: logger.info("the collector takes spans again")
      }
    }
  }
}
