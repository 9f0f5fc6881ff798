import JSON
import NIOHTTP1

/// One answer.
struct Reply: Sendable {
  /// What stands after the header block.
  enum Body: Sendable {
    /// These bytes, with their length.
    case bytes([UInt8])
    /// `length` bytes made on the way out, so that memory stays flat; with their length or chunked.
    case pattern(length: Int, chunked: Bool)
  }

  /// The status code, 200 to 599.
  var status: Int
  /// The header fields in order, those about framing left out.
  var headers: HTTPHeaders
  /// The body; left away where the method or status has none.
  var body: Body

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

  /// An error of the playground itself, as opposed to one a standard describes.
  static func problem(_ status: Int, _ message: String, headers: [(String, String)] = []) -> Reply {
    Reply(status: status, json: ["error": .string(message)], headers: headers)
  }
}
