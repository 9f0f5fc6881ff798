import AuthEngine
import HTTPMessages
import PosternObservability

/// A span of the engine's: a wait for a token, or an exchange.
struct WorkSpan: EngineSpan {
  private let work: TracedWork
  private let tracer: CallTracer
  private let spanID = CallTrace.newSpanID()
  private let start: Int64

  init(_ work: TracedWork, of tracer: CallTracer) {
    self.work = work
    self.tracer = tracer
    start = tracer.now
  }

  var context: TraceContext? {
    TraceContext(own: "00-\(tracer.traceID)-\(spanID)-01", tracer: tracer.within(spanID))
  }

  func end(_ outcome: TracedOutcome) {
    var span = TelemetrySpan(
      traceID: tracer.traceID, spanID: spanID, parentID: tracer.spanID, name: "", kind: .internal, start: start,
      end: tracer.now)
    switch work {
    case .token(let issuer):
      span.name = "token"
      span.attributes = [("postern.issuer", .string(issuer))]
    case .exchange(let purpose, let method, let origin):
      // OpenTelemetry's conventions for HTTP clients 1.23 and later. No url.full: paths and queries are the caller's
      // affair.
      span.name = method
      span.kind = .client
      span.attributes = [
        ("http.request.method", .string(method)), ("url.scheme", .string(origin.scheme)),
        ("server.address", .string(Self.address(origin.host))), ("server.port", .integer(Int64(origin.port))),
        ("postern.upstream.kind", .string(purpose.kind)), ("postern.upstream.name", .string(purpose.name)),
      ]
    }
    switch outcome {
    case .done: break
    case .status(let status):
      span.attributes.append(("http.response.status_code", .integer(Int64(status))))
      if status >= 400 { span.fail("\(status)") }
    case .failed(let code): span.fail(code)
    }
    tracer.exporter.export(span)
  }

  /// Without the brackets of IPv6.
  private static func address(_ host: String) -> String {
    host.utf8.first == UInt8(ascii: "[") ? String(Substring(host.utf8.dropFirst().dropLast())) : host
  }
}

extension TelemetrySpan {
  /// Marks it as failed for a reason of few values.
  mutating func fail(_ type: String) {
    attributes.append(("error.type", .string(type)))
    failure = type
  }
}
