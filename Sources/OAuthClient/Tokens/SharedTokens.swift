import HTTPMessages
import PosternCrypto
import PosternSupport

/// The digests of the client credentials tokens that were obtained: such a token is shared by all users, and no user
/// may revoke it.
///
/// Bounded: the grant with the most digests loses its oldest, so that a token that is replaced again and again
/// displaces no other one's.
struct SharedTokens: Sendable {
  /// A digest of a token, or of a part of it, with its issuer.
  ///
  /// The issuer is part of it since another issuer can give any string as its token, such as one that it has seen of
  /// another issuer's. Configured issuers with the same identifier are the same one, whichever client they have.
  struct Digest: Hashable, Sendable {
    private let bytes: [UInt8]

    fileprivate init(of text: ArraySlice<UInt8>, at issuer: Issuer) {
      bytes = HashFunction.sha256.hash(Array(issuer.identifier.utf8) + [UInt8(ascii: "\n")] + text)
    }
  }

  /// Returns the digests by which `token` is recognised, in any spelling.
  ///
  /// The digest leaves out what a server may ignore in a changed token: bytes that occur in no token (RFC 6750 section
  /// 2.1), padding, the case of letters, and all but the part between dots by which the server looks it up.
  static func digests(of token: Secret<String>, at issuer: Issuer) -> [Digest] {
    let token = token.reveal().utf8.filter(ASCII.isToken68Character).map { isCapital($0) ? $0 | 0x20 : $0 }
    let parts = token.split(separator: UInt8(ascii: "."), omittingEmptySubsequences: false)
    var texts = [token[...]]
    guard parts.count > 1 else { return texts.map { Digest(of: $0, at: issuer) } }
    if parts.count == 3, parts.dropLast().allSatisfy(isObject) { texts.append(token[..<parts[1].endIndex]) }
    for (index, part) in parts.enumerated() where part.count >= minPart && !isCommon(index, of: parts) {
      texts.append(part)
    }
    return texts.map { Digest(of: $0, at: issuer) }
  }

  /// Shorter parts may be a prefix that many tokens have.
  private static let minPart = 16

  /// Whether the part is common to many tokens of an issuer: the header of a JWS or JWE, the footer of a PASETO.
  private static func isCommon(_ index: Int, of parts: [ArraySlice<UInt8>]) -> Bool {
    switch index {
    case 0: parts.count >= 3 && isObject(parts[0])
    case 3: parts.count == 4 && parts[0].count == 2 && parts[0].first == UInt8(ascii: "v")
    default: false
    }
  }

  /// Whether it starts as a JSON object in Base64 does.
  private static func isObject(_ part: ArraySlice<UInt8>) -> Bool { part.starts(with: "ey".utf8) }

  private static func isCapital(_ byte: UInt8) -> Bool { (0x41...0x5A).contains(byte) }

  private var grants: FairCache<ClientCredentialsGrant, Digest, Bool>

  /// An empty set for at most `capacity` digests.
  init(capacity: Int = 8192) { grants = FairCache(capacity: capacity) }

  /// Records the digests of an obtained token.
  mutating func note(_ digests: [Digest], of grant: ClientCredentialsGrant) {
    for digest in digests { grants.set(true, for: digest, of: grant) }
  }

  /// Whether any digest is of one of them. A look-up does not protect an entry from eviction: otherwise look-ups of old
  /// ones would evict the current one.
  func contains(any digests: some Sequence<Digest>) -> Bool { digests.contains { grants.peek($0) != nil } }
}
