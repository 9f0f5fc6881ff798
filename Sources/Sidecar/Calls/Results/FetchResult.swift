package import AuthEngine
package import HTTPMessages
package import PosternJSON
package import PosternProtocol
import PosternSupport

extension FetchResource.Result {
  /// A resource's response as it goes over the wire. `bodyBytes`: how many bytes of the body were written to a
  /// descriptor; nil: it was not.
  package init(_ response: ResourceResponse, task: String, bodyBytes: Int64? = nil) {
    let timing = response.timing
    self.init(
      task: task, status: response.status, url: response.url.description, headers: ResponseHeaders(response.fields),
      timing: FetchResource.Timing(
        totalMs: timing.total.wholeMilliseconds, queueMs: timing.queued.wholeMilliseconds,
        connectMs: timing.connect.wholeMilliseconds, firstByteMs: timing.firstByte.wholeMilliseconds))
    reason = response.reason
    if let bodyBytes {
      self.bodyBytes = bodyBytes
    } else if response.isStreamed {
      // It has gone out in pieces.
    } else if Self.isText(response) {
      body = ResponseBody(response.body)
    } else {
      bodyBase64 = Base64.string(response.body)
    }
    attempts = response.attempts
    tokenRefreshed = response.tokenRefreshed
    advicesSatisfied = response.advicesSatisfied.compactMap { PolicyAdviceDescription($0).json }
    retryAfterMs = response.retryAfter?.wholeMillisecondsUp
  }

  /// Whether `Content-Encoding` names none but `identity`.
  private static func isWithoutCoding(_ value: String) -> Bool {
    value.split(atByte: ",").map { HTTPFieldRules.trimmed(String($0)).lowercasedASCII() }
      .allSatisfy { $0.isEmpty || $0 == "identity" }
  }

  /// Whether the body is text, if it is UTF-8; an empty body always is.
  private static func isText(_ response: ResourceResponse) -> Bool {
    if response.body.isEmpty { return true }
    // A body whose coding was not undone is not text.
    guard response.fields.values(of: "content-encoding").allSatisfy(isWithoutCoding) else { return false }
    guard let type = response.fields["content-type"] else { return false }
    // By far the most frequent one is not taken apart.
    if type == "application/json" { return true }
    guard let type = MediaType(type), type.isTextual else { return false }
    switch type.encoding {
    case .utf8: return true
    // Bytes that could be read as UTF-8 would make another text than the one meant.
    case .extendsASCII: return response.body.allSatisfy { $0 < 0x80 }
    case .other: return false
    }
  }
}

extension ResponseHeaders {
  /// The fields of a message.
  package init(_ fields: HTTPFields) {
    self.init(capacity: fields.lines.count)
    for line in fields.lines { append(line.name, line.value) }
  }
}

extension PolicyAdviceDescription {
  /// The engine's advice as it goes over the wire.
  package init(_ advice: PolicyAdvice) {
    self.init(type: advice.type)
    if advice.type != PolicyAdvice.Name.insufficientUserAuthentication { value = advice.value }
    txId = advice.txId
    if advice.isCompositeAdvice {
      authIndexType = "composite_advice"
      authIndexValue = CompositeAdvice.xml([advice])
    }
    realm = advice.realm
    acrValues = advice.acrValues
    maxAge = advice.maxAge
  }

  /// The advice as JSON.
  package var json: JSONValue? { try? JSONValueEncoder().encode(self) }
}
