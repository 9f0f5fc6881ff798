import HTTPMessages
import OAuthClient
import PosternSupport

/// Why a request has no token that could be judged.
struct PresentationFault: Error, Sendable, Equatable {
  /// How the API answers.
  enum Answer: Sendable, Equatable {
    /// As to a request without credentials (RFC 6750 section 3).
    case challenge
    /// As to a malformed request (RFC 6750 section 3.1, RFC 9449 section 7.2).
    case malformed
    /// As to a token that is not valid.
    case invalid
  }

  let fault: TokenFault
  let answer: Answer

  init(_ code: TokenFault.Code, _ message: String, _ answer: Answer) {
    fault = TokenFault(code, message)
    self.answer = answer
  }
}

/// The token of a request, and how it is shown (RFC 6750 section 2.1, RFC 9449 section 7.1).
struct TokenPresentation: Sendable {
  /// Longer ones are not looked at.
  static let maxTokenBytes = 16 << 10

  let token: Secret<String>
  let type: TokenType

  /// Reads the one `Authorization` line. A token in the query is in logs and caches already: it never counts, and next
  /// to one in the header it makes the request ambiguous.
  init(_ fields: HTTPFields, query: String?) throws(PresentationFault) {
    let lines = fields.values(of: "Authorization")
    let isInQuery = Self.hasToken(query)
    guard lines.count <= 1 else { throw Self.repeated("Authorization is there more than once") }
    guard let line = lines.first else {
      throw Self.missing(isInQuery ? "a token in the query does not count" : "the request has no token")
    }
    let bytes = Substring(line).utf8
    let scheme = bytes.prefix { $0 != Self.space }
    let rest = bytes[scheme.endIndex...].drop { $0 == Self.space }
    guard let type = TokenType(named: String(Substring(scheme))) else {
      throw Self.missing("the request has credentials of another scheme")
    }
    guard !rest.isEmpty else { throw Self.missing("the request has no token behind the scheme") }
    guard !isInQuery else { throw Self.repeated("the request has a token in Authorization and one in the query") }
    guard rest.count <= Self.maxTokenBytes else {
      throw PresentationFault(
        TokenFault.Code(rawValue: "token_too_large"), "the token is larger than \(Self.maxTokenBytes) bytes", .invalid)
    }
    guard Self.isToken68(rest) else {
      // Fronts join two lines with a comma.
      guard rest.contains(UInt8(ascii: ",")) else {
        throw PresentationFault(
          TokenFault.Code(rawValue: "malformed_token"), "the token has characters that no token has", .malformed)
      }
      throw Self.repeated("Authorization has more than one token")
    }
    token = Secret(String(Substring(rest)))
    self.type = type
  }

  private static let space = UInt8(ascii: " ")

  /// RFC 9110 section 11.2.
  private static func isToken68(_ bytes: Substring.UTF8View.SubSequence) -> Bool {
    let body = bytes.prefix { $0 != UInt8(ascii: "=") }
    guard !body.isEmpty, bytes[body.endIndex...].allSatisfy({ $0 == UInt8(ascii: "=") }) else { return false }
    return body.allSatisfy(ASCII.isToken68Character)
  }

  /// Whether the query has RFC 6750's parameter, however its name is encoded.
  private static func hasToken(_ query: String?) -> Bool {
    guard let query else { return false }
    return query.split(atByte: "&").contains { part in
      decoded(part.prefix(beforeBytes: "=").utf8).elementsEqual("access_token".utf8)
    }
  }

  /// Returns the bytes of a percent-encoded name; what is not encoded properly stays as it is.
  private static func decoded(_ name: Substring.UTF8View) -> [UInt8] {
    var bytes: [UInt8] = []
    var rest = name[...]
    while let byte = rest.popFirst() {
      guard byte == UInt8(ascii: "%"), let value = Hexadecimal.decode(rest.prefix(2))?.first else {
        bytes.append(byte)
        continue
      }
      bytes.append(value)
      rest = rest.dropFirst(2)
    }
    return bytes
  }

  private static func missing(_ message: String) -> PresentationFault {
    PresentationFault(.tokenMissing, message, .challenge)
  }

  private static func repeated(_ message: String) -> PresentationFault {
    PresentationFault(.tokenRepeated, message, .malformed)
  }
}

extension TokenFault.Code {
  /// The request shows no token.
  static let tokenMissing = TokenFault.Code(rawValue: "token_missing")
  /// The request shows a token in two ways at once.
  static let tokenRepeated = TokenFault.Code(rawValue: "token_repeated")
  /// A proof is required, and there is none.
  static let proofMissing = TokenFault.Code(rawValue: "dpop_proof_missing")
  /// The proof is not one for this request and token.
  static let invalidProof = TokenFault.Code(rawValue: "invalid_dpop_proof")
  /// The proof lacks a nonce of now.
  static let useNonce = TokenFault.Code(rawValue: "use_dpop_nonce")
  /// The proof was accepted before.
  static let proofReplayed = TokenFault.Code(rawValue: "dpop_proof_replayed")
  /// The user has to authenticate again, or better (RFC 9470).
  static let insufficientAuthentication = TokenFault.Code(rawValue: "insufficient_user_authentication")
}
