/// One request as it goes to the transport: absolute URL, final fields, body bytes.
public struct HTTPRequest: Sendable {
  /// The method token, upper case (`GET`, `POST`, …).
  public var method: String
  /// Where it goes.
  public var url: HTTPURL
  /// The fields as they are sent. `Host`, `Content-Length` and `Accept-Encoding` are the transport's.
  public var fields: HTTPFields
  /// The body; nil sends none (not even `Content-Length: 0`, unless the method calls for it).
  public var body: [UInt8]?

  /// A request; nothing is checked here, see `HTTPFieldRules` and `HTTPURL`.
  public init(method: String, url: HTTPURL, fields: HTTPFields = HTTPFields(), body: [UInt8]? = nil) {
    self.method = method
    self.url = url
    self.fields = fields
    self.body = body
  }
}
