import PosternJSON

/// A batch as OTLP/HTTP's JSON has it: `ExportTraceServiceRequest` of opentelemetry-proto 1, ids in hexadecimal, 64-bit
/// numbers as texts.
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
    // STATUS_CODE_ERROR is 2; what went well stays unset, as the specification wants it of libraries.
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
