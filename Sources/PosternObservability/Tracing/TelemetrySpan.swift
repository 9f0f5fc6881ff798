import PosternJSON

/// A finished span of a trace, as OpenTelemetry defines it.
public struct TelemetrySpan: Sendable {
  /// The kind of a span (`SpanKind`).
  public enum Kind: Int, Sendable, Hashable {
    /// An operation within the process.
    case `internal` = 1
    /// A request received.
    case server = 2
    /// A request sent.
    case client = 3
  }

  /// The value of an attribute.
  public enum Value: Sendable, Hashable {
    /// A text.
    case string(String)
    /// A whole number.
    case integer(Int64)
    /// True or false.
    case boolean(Bool)
  }

  /// 32 lower-case hexadecimal digits.
  public var traceID: String
  /// 16 lower-case hexadecimal digits.
  public var spanID: String
  /// The parent span's id; nil for the first of a trace.
  public var parentID: String?
  /// The name of the operation, one of a few.
  public var name: String
  /// The kind of the span.
  public var kind: Kind
  /// The start, in nanoseconds since the epoch.
  public var start: Int64
  /// The end, in nanoseconds since the epoch.
  public var end: Int64
  /// The attributes, in order.
  public var attributes: [(name: String, value: Value)]
  /// Why it failed; nil when it did not.
  public var failure: String?

  /// A span of the given parts.
  public init(
    traceID: String, spanID: String, parentID: String?, name: String, kind: Kind, start: Int64, end: Int64,
    attributes: [(name: String, value: Value)] = [], failure: String? = nil
  ) {
    self.traceID = traceID
    self.spanID = spanID
    self.parentID = parentID
    self.name = name
    self.kind = kind
    self.start = start
    self.end = end
    self.attributes = attributes
    self.failure = failure
  }
}

/// The attributes that all spans of a process share (OpenTelemetry's *resource*).
public struct TelemetryResource: Sendable {
  /// `service.name`.
  public var serviceName: String
  /// `service.version`, and the version of the instrumentation scope.
  public var serviceVersion: String
  /// `service.instance.id`: unique to the process.
  public var instanceID: String
  /// `process.pid`.
  public var processID: Int64

  /// A resource of the given parts.
  public init(serviceName: String, serviceVersion: String, instanceID: String, processID: Int64) {
    self.serviceName = serviceName
    self.serviceVersion = serviceVersion
    self.instanceID = instanceID
    self.processID = processID
  }
}

/// The JSON of a batch in OTLP/HTTP: `ExportTraceServiceRequest` of opentelemetry-proto 1, with ids in hexadecimal and
/// 64-bit numbers as strings.
enum OTLPDocument {
  /// The document of `spans`.
  static func make(_ spans: [TelemetrySpan], of resource: TelemetryResource) -> JSONValue {
    let own: [(name: String, value: TelemetrySpan.Value)] = [
      ("service.name", .string(resource.serviceName)), ("service.version", .string(resource.serviceVersion)),
      ("service.instance.id", .string(resource.instanceID)), ("process.pid", .integer(resource.processID)),
    ]
    return [
      "resourceSpans": [
        [
          "resource": ["attributes": attributes(own)],
          "scopeSpans": [
            [
              "scope": ["name": "postern", "version": .string(resource.serviceVersion)],
              "spans": .array(spans.map(span)),
            ]
          ],
        ]
      ]
    ]
  }

  private static func span(_ span: TelemetrySpan) -> JSONValue {
    var object: JSONObject = ["traceId": .string(span.traceID), "spanId": .string(span.spanID)]
    if let parent = span.parentID { object["parentSpanId"] = .string(parent) }
    object["name"] = .string(span.name)
    object["kind"] = .integer(Int64(span.kind.rawValue))
    object["startTimeUnixNano"] = .string(String(span.start))
    object["endTimeUnixNano"] = .string(String(span.end))
    object["attributes"] = attributes(span.attributes)
    // STATUS_CODE_ERROR is 2. For success the status stays unset, as the specification recommends for libraries.
    if let failure = span.failure { object["status"] = ["code": 2, "message": .string(failure)] }
    return .object(object)
  }

  private static func attributes(_ attributes: [(name: String, value: TelemetrySpan.Value)]) -> JSONValue {
    .array(
      attributes.map { attribute in
        let value: JSONValue =
          switch attribute.value {
          case .string(let text): ["stringValue": .string(text)]
          case .integer(let number): ["intValue": .string(String(number))]
          case .boolean(let flag): ["boolValue": .bool(flag)]
          }
        return ["key": .string(attribute.name), "value": value]
      })
  }
}
