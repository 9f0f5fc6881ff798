import CPosternHiredis
import SessionRecords

/// An answer of the server, copied out of hiredis.
enum RedisReply: Sendable, Equatable {
  case status(String)
  case error(String)
  case integer(Int64)
  case none
  case bytes([UInt8])
  case array([RedisReply])

  /// The answer at `reply`, whose depth hiredis bounds.
  init(_ reply: OpaquePointer) {
    func bytes() -> [UInt8] {
      var count = 0
      guard let start = chiredis_reply_bytes(reply, &count) else { return [] }
      return Array(UnsafeRawBufferPointer(start: start, count: count))
    }
    switch Int(chiredis_reply_kind(reply)) {
    case Int(CHIREDIS_STATUS): self = .status(String(decoding: bytes(), as: UTF8.self))
    case Int(CHIREDIS_INTEGER): self = .integer(chiredis_reply_integer(reply))
    case Int(CHIREDIS_NIL): self = .none
    case Int(CHIREDIS_STRING): self = .bytes(bytes())
    case Int(CHIREDIS_ARRAY):
      self = .array(
        (0..<chiredis_reply_count(reply)).map { index in
          chiredis_reply_element(reply, index).map(RedisReply.init) ?? .none
        })
    default: self = .error(String(decoding: bytes(), as: UTF8.self))
    }
  }

  var integer: Int64? {
    if case .integer(let number) = self { number } else { nil }
  }

  var bytes: [UInt8]? {
    if case .bytes(let bytes) = self { bytes } else { nil }
  }

  var array: [RedisReply]? {
    if case .array(let elements) = self { elements } else { nil }
  }

  /// The integer in the digits of a string.
  var number: Int64? { bytes.flatMap { Int64(String(decoding: $0, as: UTF8.self)) } }
}
