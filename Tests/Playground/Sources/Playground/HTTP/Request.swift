import NIOHTTP1

/// One request, read whole.
struct Request: Sendable {
  /// The method as sent.
  let method: String
  /// The path as sent, escapes and dot segments untouched.
  let path: String
  /// The query as sent, without its question mark; nil when there was none.
  let query: String?
  /// The header fields in order.
  let headers: HTTPHeaders
  /// The body, at most `Limits.bodyBytes`.
  let body: [UInt8]
  /// The decoded values of the route's `{name}` segments.
  var captures: [String: String] = [:]

  /// A request of the given parts; `target` is split at its first question mark.
  init(method: String, target: String, headers: HTTPHeaders, body: [UInt8]) {
    self.method = method
    let parts = target.split(separator: "?", maxSplits: 1, omittingEmptySubsequences: false)
    path = parts.first.map(String.init) ?? ""
    query = parts.count > 1 ? String(parts[1]) : nil
    self.headers = headers
    self.body = body
  }

  /// The same request with another body.
  func withContent(_ body: [UInt8], type: String?) -> Request {
    var headers = headers
    headers.remove(name: "content-type")
    if let type { headers.add(name: "content-type", value: type) }
    var request = Request(method: method, target: path + (query.map { "?\($0)" } ?? ""), headers: headers, body: body)
    request.captures = captures
    return request
  }

  /// The media type in lower case, without parameters.
  var mediaType: String? {
    headers.first(name: "content-type")?.prefix { $0 != ";" }.filter { $0 != " " && $0 != "\t" }.lowercased()
  }

  /// The query's parameters; nil when the query is not well-formed.
  var queryParameters: FormParameters? { FormParameters(parsing: Array((query ?? "").utf8)) }

  /// The value of a cookie (RFC 6265 section 5.4); nil when it is missing or sent several times.
  func cookie(_ name: String) -> String? {
    let fields: [String] = headers["cookie"]
    let pairs: [Substring] = fields.flatMap { $0.split(separator: ";").map { $0.drop { $0 == " " } } }
    let values = pairs.filter { $0.hasPrefix(name + "=") }
    return values.count == 1 ? String(values[0].dropFirst(name.count + 1)) : nil
  }

  /// Whether one of the media ranges in `Accept` is exactly `type` (RFC 9110 section 12.5.1).
  func accepts(_ type: String) -> Bool {
    let fields: [String] = headers["accept"]
    let ranges: [Substring] = fields.flatMap { $0.split(separator: ",") }
    return ranges.contains { $0.prefix { $0 != ";" }.filter { $0 != " " && $0 != "\t" }.lowercased() == type }
  }
}
