public import HTTPMessages
public import OAuthClient
public import PosternSupport

/// The response to a fetch, whatever its status.
public struct ResourceResponse: Sendable {
  /// The status code.
  public let status: Int
  /// The reason phrase, when there was one.
  public let reason: String?
  /// Where it came from, after redirects.
  public let url: HTTPURL
  /// The fields in order.
  public let fields: HTTPFields
  /// The body, content codings undone; empty where it was taken in pieces.
  public internal(set) var body: [UInt8]
  /// Whether the body was taken in pieces.
  public internal(set) var isStreamed = false
  /// How long callers are to wait, with 429 and 503 (RFC 9110 section 10.2.3).
  public let retryAfter: Duration?
  /// How often the request was sent: 1, one more when it was retried with a newer token, one more for each time that
  /// advice was satisfied. Redirects followed do not count.
  public let attempts: Int
  /// Whether the response is that to a retry with a newer token.
  public let tokenRefreshed: Bool
  /// The policy advices that were satisfied on the way.
  public var advicesSatisfied: [PolicyAdvice] = []
  /// The policy advices that the response has, whether a user can satisfy them or not; none where neither the resource
  /// server has `advice` rules nor the fetch an authorization policy.
  public internal(set) var advices: [PolicyAdvice] = []
  /// The whole fetch in `total`, waiting for tokens included; the other parts are sums over its exchanges.
  public let timing: HTTPResponse.Timing
}

extension ResourceResponse {
  /// A response of the given parts to a request that was sent once: for doubles of a program's tests.
  public init(status: Int, url: HTTPURL, fields: HTTPFields = HTTPFields(), body: [UInt8] = []) {
    self.init(
      status: status, reason: nil, url: url, fields: fields, body: body, retryAfter: nil, attempts: 1,
      tokenRefreshed: false, timing: HTTPResponse.Timing())
  }
}

extension ResourceResponse: ConciseStringConvertible {
  /// `200 OK, 1,234 bytes of application/json from https://api.example.com/orders`.
  public var description: String {
    let size = isStreamed ? "streamed" : HTTPStatusLine.text(body.count, of: fields)
    return Concise.text(HTTPStatusLine.text(status, reason), "\(size) from \(url.shown)")
  }
}
