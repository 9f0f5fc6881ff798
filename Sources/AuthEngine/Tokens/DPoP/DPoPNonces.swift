import HTTPMessages
import Support

/// The newest nonce of each server (RFC 9449 sections 8 and 9); those of servers that were longest not asked are forgotten.
final class DPoPNonces: Sendable {
  static let capacity = 1024
  /// Longer ones are ignored: they have to go back in every request.
  static let maxBytes = 1024

  private let nonces = Locked(BoundedCache<HTTPURL.Origin, String>(capacity: capacity))

  subscript(origin: HTTPURL.Origin) -> String? {
    get { nonces.withLock { $0[origin] } }
    set { nonces.withLock { $0[origin] = newValue } }
  }

  /// The nonce of an answer: one field of `NQCHAR` (RFC 9449 section 8.1). Anything else is none.
  static func nonce(in fields: HTTPFields) -> String? {
    let values = fields.values(of: "DPoP-Nonce")
    guard values.count == 1, (1...maxBytes).contains(values[0].utf8.count),
      values[0].utf8.allSatisfy({ $0 > 0x20 && $0 < 0x7F && $0 != UInt8(ascii: "\"") && $0 != UInt8(ascii: "\\") })
    else { return nil }
    return values[0]
  }
}
