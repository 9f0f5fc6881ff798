/// A response before its body: what is known when the first of its bytes may come.
public struct HTTPResponseHead: Sendable {
  /// The status code, 200…599.
  public var status: Int
  /// The reason phrase, where the protocol has one (HTTP/1.x) and it was not empty.
  public var reason: String?
  /// Where it comes from.
  public var url: HTTPURL
  /// The fields in order. Where the transport undoes a content coding, `Content-Encoding` and `Content-Length` are
  /// gone.
  public var fields: HTTPFields

  /// A head of the given parts.
  public init(status: Int, reason: String? = nil, url: HTTPURL, fields: HTTPFields = HTTPFields()) {
    self.status = status
    self.reason = reason
    self.url = url
    self.fields = fields
  }
}
