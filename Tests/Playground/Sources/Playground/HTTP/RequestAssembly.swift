import NIOCore
import NIOHTTP1

/// Puts one connection's parts together to whole requests, and throws away bodies that are too large instead of keeping
/// them.
struct RequestAssembly {
  /// The result of one part.
  enum Step {
    /// Nothing yet.
    case wait
    /// The sender waits for a word before it sends its body (RFC 9110 section 10.1.1).
    case askToContinue
    /// A whole request.
    case request(Request, HTTPRequestHead)
    /// The body was too large; the request is over, or more came than is worth reading.
    case tooLarge(HTTPRequestHead)
  }

  private var head: HTTPRequestHead?
  private var body: [UInt8] = []
  private var received = 0

  /// Takes the next part.
  mutating func take(_ part: HTTPServerRequestPart) -> Step {
    switch part {
    case .head(let head):
      self.head = head
      body = []
      received = 0
      return head.headers.first(name: "expect")?.lowercased() == "100-continue" ? .askToContinue : .wait
    case .body(let buffer):
      received += buffer.readableBytes
      if received <= Limits.bodyBytes { body.append(contentsOf: buffer.readableBytesView) } else { body = [] }
      guard received > Limits.discardedBytes, let head else { return .wait }
      return .tooLarge(head)
    case .end:
      guard let head else { return .wait }
      if received > Limits.bodyBytes { return .tooLarge(head) }
      return .request(Request(method: head.method.rawValue, target: head.uri, headers: head.headers, body: body), head)
    }
  }
}
