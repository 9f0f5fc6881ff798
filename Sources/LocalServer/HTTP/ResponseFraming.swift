package import HTTPMessages
import PosternSupport

/// The bytes around the parts of one response: status line, fields, and the framing of the body (RFC 9112 sections 4, 6
/// and 7). A response whose parts do not fit its framing breaks, and its connection is closed without its regular end.
package struct ResponseFraming: Sendable {
  /// A response that is used against its rules; only closing the connection is left.
  package struct Violation: Error, Sendable, Hashable {
    package let detail: String
  }

  private enum State: Sendable {
    case notBegun
    case withoutBody
    case length(Int64)
    case chunks
    case untilClose
    case ended
  }

  private let isHead: Bool
  private let minorVersion: Int
  private var state = State.notBegun
  /// Whether the connection is closed behind this response.
  package private(set) var closes: Bool

  /// The response to a request with this method and version; the connection is closed behind it if `closes`.
  package init(method: String, minorVersion: Int, closes: Bool) {
    isHead = method == "HEAD"
    self.minorVersion = minorVersion
    self.closes = closes || minorVersion == 0
  }

  /// Whether `begin` was called.
  package var hasBegun: Bool { if case .notBegun = state { false } else { true } }

  /// Whether `end` was called.
  package var hasEnded: Bool { if case .ended = state { true } else { false } }

  /// The header section. `mustClose`: the connection cannot be used behind it.
  package mutating func begin(
    status: Int, fields: HTTPFields, length: Int64?, mustClose: Bool = false
  ) throws(Violation) -> [UInt8] {
    guard case .notBegun = state else { throw Violation(detail: "the response has begun already") }
    guard (200...599).contains(status) else { throw Violation(detail: "\(status) is not the status of a response") }
    guard length ?? 0 >= 0 else { throw Violation(detail: "the length is negative") }
    if mustClose { closes = true }
    var bytes: [UInt8] = []
    bytes.reserveCapacity(512)
    bytes += "HTTP/1.1 ".utf8
    bytes += String(status).utf8
    bytes += " ".utf8
    bytes += Self.phrase(of: status).utf8
    bytes += "\r\n".utf8
    for field in fields.lines {
      let name = field.name
      guard HTTPFieldRules.isName(name), HTTPFieldRules.isValue(field.value),
        !Self.framingFields.contains(where: { name.hasSameASCIILetters(as: $0) })
      else { throw Violation(detail: "a field cannot be sent") }
      bytes += name.utf8
      bytes += ": ".utf8
      if FieldOctets.standsForBytes(field.value) {
        bytes += FieldOctets.bytes(field.value)
      } else {
        bytes += field.value.utf8
      }
      bytes += "\r\n".utf8
    }
    if status == 204 || status == 304 {
      state = .withoutBody
    } else if let length {
      bytes += "Content-Length: ".utf8
      bytes += String(length).utf8
      bytes += "\r\n".utf8
      state = isHead ? .withoutBody : .length(length)
    } else if isHead {
      state = .withoutBody
    } else if minorVersion == 1 {
      bytes += "Transfer-Encoding: chunked\r\n".utf8
      state = .chunks
    } else {
      closes = true
      state = .untilClose
    }
    if closes { bytes += "Connection: close\r\n".utf8 }
    bytes += "\r\n".utf8
    return bytes
  }

  /// The bytes before and behind `count` bytes of the body; nil when they are not sent.
  package mutating func write(_ count: Int) throws(Violation) -> (before: [UInt8], behind: [UInt8])? {
    switch state {
    case .notBegun: throw Violation(detail: "the response has not begun")
    case .ended: throw Violation(detail: "the response has ended")
    case .withoutBody: return nil
    case .untilClose: return count > 0 ? ([], []) : nil
    case .chunks:
      // An empty chunk would be the last one.
      return count > 0 ? (Array("\(String(count, radix: 16))\r\n".utf8), [0x0D, 0x0A]) : nil
    case .length(let left):
      guard count <= left else { throw Violation(detail: "the body is longer than its length") }
      state = .length(left - Int64(count))
      return count > 0 ? ([], []) : nil
    }
  }

  /// The last bytes.
  package mutating func end() throws(Violation) -> [UInt8] {
    defer { state = .ended }
    switch state {
    case .notBegun: throw Violation(detail: "the response has not begun")
    case .ended: throw Violation(detail: "the response has ended already")
    case .length(let left) where left > 0: throw Violation(detail: "the body is shorter than its length")
    case .chunks: return Array("0\r\n\r\n".utf8)
    case .withoutBody, .length, .untilClose: return []
    }
  }

  private static let framingFields = ["connection", "content-length", "transfer-encoding"]

  private static func phrase(of status: Int) -> String { phrases[status] ?? "Status" }

  private static let phrases: [Int: String] = [
    200: "OK", 201: "Created", 202: "Accepted", 203: "Non-Authoritative Information", 204: "No Content",
    205: "Reset Content", 206: "Partial Content", 207: "Multi-Status", 300: "Multiple Choices",
    301: "Moved Permanently", 302: "Found", 303: "See Other", 304: "Not Modified", 307: "Temporary Redirect",
    308: "Permanent Redirect", 400: "Bad Request", 401: "Unauthorized", 402: "Payment Required", 403: "Forbidden",
    404: "Not Found", 405: "Method Not Allowed", 406: "Not Acceptable", 408: "Request Timeout", 409: "Conflict",
    410: "Gone", 411: "Length Required", 412: "Precondition Failed", 413: "Content Too Large", 414: "URI Too Long",
    415: "Unsupported Media Type", 416: "Range Not Satisfiable", 417: "Expectation Failed",
    421: "Misdirected Request", 422: "Unprocessable Content", 425: "Too Early", 428: "Precondition Required",
    429: "Too Many Requests", 431: "Request Header Fields Too Large", 500: "Internal Server Error",
    501: "Not Implemented", 502: "Bad Gateway", 503: "Service Unavailable", 504: "Gateway Timeout",
    505: "HTTP Version Not Supported",
  ]
}

extension RequestRejection {
  /// The problem document (RFC 9457), with the id of the request's trace. All of its texts are Postern's own:
  /// nothing needs to be escaped.
  package func problem(traceID: String) -> [UInt8] {
    var members = [
      ("type", "\"urn:postern:error:\(code.reason)\""), ("title", "\"\(code.summary)\""), ("status", "\(status)"),
      ("detail", "\"\(detail)\""), ("code", "\(code.number)"), ("reason", "\"\(code.reason)\""),
      ("outcome", isUnderWay ? "\"sent_no_reply\"" : "\"not_sent\""), ("traceId", "\"\(traceID)\""),
    ]
    if status == 503 { members.append(("retryAfterMs", "1000")) }
    return Array("{\(members.map { "\"\($0.0)\":\($0.1)" }.joined(separator: ","))}\n".utf8)
  }

  /// The fields of its response.
  package var fields: HTTPFields {
    var fields: HTTPFields = ["Content-Type": "application/problem+json", "Cache-Control": "no-store"]
    if status == 401 { fields.append("WWW-Authenticate", "Basic realm=\"postern\"") }
    if status == 503 { fields.append("Retry-After", "1") }
    return fields
  }

  /// The whole response, behind which the connection is closed. One to `HEAD` has no body (RFC 9110 section 9.3.2).
  func response(isToHead: Bool, traceID: String) -> [UInt8] {
    response(problem(traceID: traceID), fields, isToHead: isToHead)
  }

  /// The same with an error of JSON-RPC in place of the problem document.
  func response(message: [UInt8], isToHead: Bool) -> [UInt8] {
    var fields = fields
    fields["Content-Type"] = "application/json"
    return response(message, fields, isToHead: isToHead)
  }

  private func response(_ body: [UInt8], _ fields: HTTPFields, isToHead: Bool) -> [UInt8] {
    var framing = ResponseFraming(method: isToHead ? "HEAD" : "GET", minorVersion: 1, closes: true)
    guard let head = try? framing.begin(status: status, fields: fields, length: Int64(body.count)) else { return [] }
    return isToHead ? head : head + body
  }

  /// The response for a client whose request was not read: without a body it is right for every method.
  var responseWithoutBody: [UInt8] {
    var fields = fields
    fields["Content-Type"] = nil
    var framing = ResponseFraming(method: "GET", minorVersion: 1, closes: true)
    return (try? framing.begin(status: status, fields: fields, length: 0)) ?? []
  }
}
