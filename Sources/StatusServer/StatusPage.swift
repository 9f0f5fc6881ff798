/// What one path answers, as it is at this moment.
public struct StatusPage: Sendable, Hashable {
  /// The HTTP status.
  public var status: Int
  /// The value of `Content-Type`.
  public var contentType: String
  /// The body.
  public var body: [UInt8]

  /// An answer of these parts.
  public init(status: Int = 200, contentType: String, body: [UInt8]) {
    self.status = status
    self.contentType = contentType
    self.body = body
  }

  /// A short text.
  static func text(_ status: Int, _ text: String) -> StatusPage {
    StatusPage(status: status, contentType: "text/plain; charset=utf-8", body: Array("\(text)\n".utf8))
  }
}
