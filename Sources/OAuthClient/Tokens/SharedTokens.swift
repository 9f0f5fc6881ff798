import PosternCrypto
import PosternSupport

/// The digests of the client-credentials tokens that were obtained: all users share such a token, and none of them has
/// it revoked.
///
/// There are so many at most. Beyond that the grant with most of them forgets its oldest: whoever has a token replaced
/// again and again makes no other one be forgotten.
struct SharedTokens: Sendable {
  /// What tells a token of an issuer from its others: the token, or a part of it.
  ///
  /// With its issuer: another one gives what it likes as its token, also what it has seen of somebody else's.
  /// Configured issuers with the same identifier are the same one, whichever client they have.
  struct Digest: Hashable, Sendable {
    private let bytes: [UInt8]

    fileprivate init(of text: ArraySlice<UInt8>, at issuer: Issuer) {
      bytes = HashFunction.sha256.hash(Array(issuer.identifier.utf8) + [UInt8(ascii: "\n")] + text)
    }
  }

  /// What `token` is known by, however it is written.
  ///
  /// Left out is what a server may overlook in a token that somebody has changed: bytes that stand in none (RFC 6750
  /// section 2.1), padding, the case of letters, and all but the part between dots by which it looks tokens up.
  static func digests(of token: Secret<String>, at issuer: Issuer) -> [Digest] {
    let token = token.reveal().utf8.filter(isTokenByte).map { isCapital($0) ? $0 | 0x20 : $0 }
    let parts = token.split(separator: UInt8(ascii: "."), omittingEmptySubsequences: false)
    var texts = [token[...]]
    guard parts.count > 1 else { return texts.map { Digest(of: $0, at: issuer) } }
    if parts.count == 3, parts.dropLast().allSatisfy(isObject) { texts.append(token[..<parts[1].endIndex]) }
    for (place, part) in parts.enumerated() where part.count >= minPart && !isCommon(place, of: parts) {
      texts.append(part)
    }
    return texts.map { Digest(of: $0, at: issuer) }
  }

  /// What is shorter may be a prefix that many tokens have.
  private static let minPart = 16

  /// Whether many tokens of an issuer have the part: the header of a JWS or JWE, the footer of a PASETO.
  private static func isCommon(_ place: Int, of parts: [ArraySlice<UInt8>]) -> Bool {
    switch place {
    case 0: parts.count >= 3 && isObject(parts[0])
    case 3: parts.count == 4 && parts[0].count == 2 && parts[0].first == UInt8(ascii: "v")
    default: false
    }
  }

  /// Whether it begins like a JSON object in Base64.
  private static func isObject(_ part: ArraySlice<UInt8>) -> Bool { part.starts(with: "ey".utf8) }

  private static func isCapital(_ byte: UInt8) -> Bool { (0x41...0x5A).contains(byte) }

  private static func isTokenByte(_ byte: UInt8) -> Bool {
    switch byte {
    case 0x30...0x39, 0x41...0x5A, 0x61...0x7A: true
    default: "-._~+/".utf8.contains(byte)
    }
  }

  private var grants: FairCache<ClientCredentialsGrant, Digest, Bool>

  /// None yet, of at most `capacity` digests.
  init(capacity: Int = 8192) { grants = FairCache(capacity: capacity) }

  /// Notes a token that has been obtained.
  mutating func note(_ digests: [Digest], of grant: ClientCredentialsGrant) {
    for digest in digests { grants.set(true, for: digest, of: grant) }
  }

  /// Whether any is of one of them. To ask keeps none from being forgotten: else whoever asks for old ones makes the
  /// current one go.
  func contains(any digests: some Sequence<Digest>) -> Bool { digests.contains { grants.peek($0) != nil } }
}
