import NIOHTTP1
import PosternJSON

/// One answer.
struct Reply: Sendable {
  /// The content after the header block.
  enum Body: Sendable {
    /// These bytes, with their length.
    case bytes([UInt8])
    /// `length` bytes made on the way out, so that memory stays flat; with their length or chunked.
    case pattern(length: Int, chunked: Bool)
    /// The first half of these bytes, announced as all of them; then the connection is closed.
    case half([UInt8])
    /// No answer at all: the connection is closed instead.
    case hangUp
    /// No answer at all: the connection is reset instead.
    case reset
  }

  /// The status code, 200 to 599.
  var status: Int
  /// The header fields in order, those about framing left out.
  var headers: HTTPHeaders
  /// The body; left away where the method or status has none.
  var body: Body
  /// Called with true just before the answer is written, so that a client that has received it finds it noted, and with
  /// false afterwards when it could not be written whole.
  var noteWritten: (@Sendable (Bool) -> Void)?

  /// An answer of `bytes`.
  init(status: Int = 200, type: String? = nil, bytes: [UInt8] = [], headers: [(String, String)] = []) {
    self.status = status
    self.headers = HTTPHeaders(headers)
    if let type { self.headers.add(name: "content-type", value: type) }
    body = .bytes(bytes)
  }

  /// An answer of JSON.
  init(status: Int = 200, json: JSONValue, headers: [(String, String)] = []) {
    self.init(status: status, type: "application/json", bytes: JSONWriter().write(json), headers: headers)
  }

  /// An answer of a web page.
  init(status: Int = 200, page: Page) {
    self.init(
      status: status, type: "text/html; charset=utf-8", bytes: Array(page.html.utf8), headers: Page.headers)
  }

  /// A redirection to `location` that is not to be stored.
  static func redirect(_ status: Int, to location: String) -> Reply {
    Reply(status: status, headers: [("location", location), ("cache-control", "no-store")])
  }

  /// No answer: the connection is closed.
  static let hangUp: Reply = {
    var reply = Reply(status: 204)
    reply.body = .hangUp
    return reply
  }()

  /// No answer: the connection is reset.
  static let reset: Reply = {
    var reply = Reply(status: 204)
    reply.body = .reset
    return reply
  }()

  /// An error of the playground itself, as opposed to one a standard describes.
  static func problem(_ status: Int, _ message: String, headers: [(String, String)] = []) -> Reply {
    Reply(status: status, json: ["error": .string(message)], headers: headers)
  }
}
