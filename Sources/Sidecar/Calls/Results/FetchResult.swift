package import AuthEngine
package import HTTPMessages
package import PosternJSON
package import PosternProtocol
import PosternSupport

/// A resource's response as it goes over the wire: `FetchResource.Result`, written piece by piece because it is the hot
/// path. A test decodes it as that type, strictly.
package enum FetchResult {
  /// `bodyBytes`: how many bytes of the body were written to a descriptor; nil: it was not.
  package static func text(_ response: ResourceResponse, task: String, bodyBytes: Int64? = nil) -> JSONText {
    let text = JSONComposer(capacity: 768 + response.body.count + response.body.count / 8)
    writeHead(task, response.status, response.reason, response.url, response.fields, to: text)
    if let bodyBytes {
      text.literal(#","bodyBytes":"#)
      text.integer(bodyBytes)
    } else if response.isStreamed {
      // It has gone out in pieces.
    } else if let body = Self.body(of: response) {
      text.literal(#","body":"#)
      text.string(body)
    } else {
      text.literal(#","bodyBase64":"#)
      text.string(Base64.string(response.body))
    }
    text.literal(#","attempts":"#)
    text.integer(Int64(response.attempts))
    text.literal(response.tokenRefreshed ? #","tokenRefreshed":true"# : #","tokenRefreshed":false"#)
    text.literal(#","advicesSatisfied":"#)
    text.value(.array(response.advicesSatisfied.compactMap { PolicyAdviceDescription($0).json }))
    write(response.timing, to: text)
    if let retryAfter = response.retryAfter {
      text.literal(#","retryAfterMs":"#)
      text.integer(retryAfter.wholeMillisecondsUp)
    }
    text.literal("}")
    return text.finished()
  }

  /// The members of a result that are known before the body.
  package static func text(_ head: HTTPResponseHead, task: String) -> JSONText {
    let text = JSONComposer()
    writeHead(task, head.status, head.reason, head.url, head.fields, to: text)
    text.literal("}")
    return text.finished()
  }

  private static func writeHead(
    _ task: String, _ status: Int, _ reason: String?, _ url: HTTPURL, _ fields: HTTPFields,
    to text: borrowing JSONComposer
  ) {
    text.literal(#"{"task":"#)
    text.string(task)
    text.literal(#","status":"#)
    text.integer(Int64(status))
    if let reason {
      text.literal(#","reason":"#)
      text.string(reason)
    }
    text.literal(#","url":"#)
    text.string(url.description)
    text.literal(#","headers":"#)
    write(fields, to: text)
  }

  /// Lower-case names to their values in order; names in the order of their first line.
  package static func headers(_ fields: HTTPFields) -> JSONText {
    let text = JSONComposer()
    write(fields, to: text)
    return text.finished()
  }

  private static func write(_ fields: HTTPFields, to text: borrowing JSONComposer) {
    text.literal("{")
    var isFirst = true
    for group in FieldGroups(fields) {
      text.literal(isFirst ? "" : ",")
      isFirst = false
      text.string(group.name)
      for (position, value) in group.values.enumerated() {
        text.literal(position == 0 ? ":[" : ",")
        text.string(value)
      }
      text.literal("]")
    }
    text.literal("}")
  }

  private static func write(_ timing: HTTPResponse.Timing, to text: borrowing JSONComposer) {
    text.literal(#","timing":{"totalMs":"#)
    text.integer(timing.total.wholeMilliseconds)
    text.literal(#","queueMs":"#)
    text.integer(timing.queued.wholeMilliseconds)
    text.literal(#","connectMs":"#)
    text.integer(timing.connect.wholeMilliseconds)
    text.literal(#","firstByteMs":"#)
    text.integer(timing.firstByte.wholeMilliseconds)
    text.literal("}")
  }

  /// Whether `Content-Encoding` names none but `identity`.
  private static func isWithoutCoding(_ value: String) -> Bool {
    value.split(atByte: ",").map { HTTPFieldRules.trimmed(String($0)).lowercasedASCII() }
      .allSatisfy { $0.isEmpty || $0 == "identity" }
  }

  /// The body as text when its type is textual and its bytes are UTF-8; an empty body always is.
  private static func body(of response: ResourceResponse) -> String? {
    if response.body.isEmpty { return "" }
    // A body whose coding was not undone is not text.
    guard response.fields.values(of: "content-encoding").allSatisfy(isWithoutCoding) else { return nil }
    guard let type = response.fields["content-type"] else { return nil }
    // By far the most frequent one is not taken apart.
    if type == "application/json" { return String(validating: response.body, as: UTF8.self) }
    guard let type = MediaType(type), type.isTextual else { return nil }
    switch type.encoding {
    case .utf8: return String(validating: response.body, as: UTF8.self)
    case .extendsASCII where response.body.allSatisfy({ $0 < 0x80 }):
      return String(decoding: response.body, as: UTF8.self)
    // Bytes that could be read as UTF-8 would make another text than the one meant.
    case .extendsASCII, .other: return nil
    }
  }
}

/// Header fields by lower-case name, in the order of their first lines.
private struct FieldGroups: Sequence, IteratorProtocol {
  private let names: [String]
  private let lines: [HTTPFields.Field]
  /// The lines of each name that has several; nearly always there are none.
  private var repeated: [String: [String]] = [:]
  private var position = 0

  init(_ fields: HTTPFields) {
    lines = fields.lines
    names = lines.map { $0.name.lowercasedASCII() }
    guard Self.hasDuplicates(names) else { return }
    for (name, line) in zip(names, lines) { repeated[name, default: []].append(line.value) }
  }

  private static func hasDuplicates(_ names: [String]) -> Bool {
    guard names.count <= 16 else { return Set(names).count < names.count }
    for (index, name) in names.enumerated() where names[..<index].contains(name) { return true }
    return false
  }

  mutating func next() -> (name: String, values: [String])? {
    while position < lines.count {
      defer { position += 1 }
      let name = names[position]
      guard !repeated.isEmpty else { return (name, [lines[position].value]) }
      // The first line takes the values of all.
      if let values = repeated.updateValue([], forKey: name), !values.isEmpty { return (name, values) }
    }
    return nil
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
