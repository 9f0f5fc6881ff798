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
  /// What the route's `{name}` segments matched, decoded.
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

  /// The media type in lower case, without parameters.
  var mediaType: String? {
    headers.first(name: "content-type")?.prefix { $0 != ";" }.filter { $0 != " " && $0 != "\t" }.lowercased()
  }

  /// The query's parameters; nil when the query is not well-formed.
  var queryParameters: FormParameters? { FormParameters(parsing: Array((query ?? "").utf8)) }
}
