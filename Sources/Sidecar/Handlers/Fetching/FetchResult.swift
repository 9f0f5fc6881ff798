import AuthEngine
import HTTPMessages
import PosternJSON
import PosternProtocol
import PosternSupport

/// A resource's response as it goes over the wire: `FetchResource.Result`, built as a value because it is the hot path.
/// A test decodes it as that type, strictly.
enum FetchResult {
  static func make(_ response: ResourceResponse, task: String) -> JSONValue {
    var members = head(task, response.status, response.reason, response.url, response.fields)
    func add(_ name: String, _ value: JSONValue) { members.append(JSONObject.Member(name: name, value: value)) }
    if response.isStreamed {
      // It has gone out in pieces.
    } else if let text = text(of: response) {
      add("body", .string(text))
    } else {
      add("bodyBase64", .string(Base64.string(response.body)))
    }
    add("attempts", .integer(Int64(response.attempts)))
    add("tokenRefreshed", .bool(response.tokenRefreshed))
    add(
      "advicesSatisfied",
      .array(
        response.advicesSatisfied.isEmpty
          ? [] : response.advicesSatisfied.compactMap { PolicyAdviceDescription($0).json })
    )
    add("timing", timing(response.timing))
    if let retryAfter = response.retryAfter { add("retryAfterMs", .integer(retryAfter.wholeMillisecondsUp)) }
    return .object(JSONObject(distinct: members))
  }

  /// The members of a result that are known before the body.
  static func make(_ response: HTTPResponseHead, task: String) -> JSONValue {
    .object(JSONObject(distinct: head(task, response.status, response.reason, response.url, response.fields)))
  }

  private static func head(
    _ task: String, _ status: Int, _ reason: String?, _ url: HTTPURL, _ fields: HTTPFields
  ) -> [JSONObject.Member] {
    var members: [JSONObject.Member] = []
    members.reserveCapacity(11)
    func add(_ name: String, _ value: JSONValue) { members.append(JSONObject.Member(name: name, value: value)) }
    add("task", .string(task))
    add("status", .integer(Int64(status)))
    if let reason { add("reason", .string(reason)) }
    add("url", .string("\(url)"))
    add("headers", headers(fields))
    return members
  }

  /// Lower-case names to their values in order; names in the order of their first line.
  static func headers(_ fields: HTTPFields) -> JSONValue {
    var positions: [String: Int] = [:]
    var found: [(name: String, values: [JSONValue])] = []
    for line in fields.lines {
      let name = line.name.lowercasedASCII()
      if let position = positions[name] {
        found[position].values.append(.string(line.value))
      } else {
        positions[name] = found.count
        found.append((name, [.string(line.value)]))
      }
    }
    return .object(JSONObject(distinct: found.map { JSONObject.Member(name: $0.name, value: .array($0.values)) }))
  }

  private static func timing(_ timing: HTTPResponse.Timing) -> JSONValue {
    func part(_ name: String, _ duration: Duration) -> JSONObject.Member {
      JSONObject.Member(name: name, value: .integer(duration.wholeMilliseconds))
    }
    return .object(
      JSONObject(distinct: [
        part("totalMs", timing.total), part("queueMs", timing.queued), part("connectMs", timing.connect),
        part("firstByteMs", timing.firstByte),
      ]))
  }

  /// The body as text when its type is textual and its bytes are UTF-8; an empty body always is.
  private static func text(of response: ResourceResponse) -> String? {
    if response.body.isEmpty { return "" }
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
