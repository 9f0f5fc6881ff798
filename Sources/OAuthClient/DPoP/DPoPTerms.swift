import HTTPMessages
import PosternSupport

/// What a server wants of the proofs of one key.
package struct DPoPTerms: Sendable, Equatable {
  /// Longer nonces are ignored: they have to go back in every request.
  static let maxNonceBytes = 1024

  /// Its newest nonce (RFC 9449 sections 8 and 9); nil: it has given none.
  var nonce: String?
  /// How far its clock is from this machine's.
  var skew = Duration.zero

  /// The nonce of an answer: one field of `NQCHAR` (RFC 9449 section 8.1). Anything else is none.
  static func nonce(in fields: HTTPFields) -> String? {
    let values = fields.values(of: "DPoP-Nonce")
    guard values.count == 1, (1...maxNonceBytes).contains(values[0].utf8.count),
      values[0].utf8.allSatisfy({ $0 > 0x20 && $0 < 0x7F && $0 != UInt8(ascii: "\"") && $0 != UInt8(ascii: "\\") })
    else { return nil }
    return values[0]
  }
}
