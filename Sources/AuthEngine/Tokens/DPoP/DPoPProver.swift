import Crypto
import HTTPMessages
import JSON
import Support

/// Makes proofs of possession (RFC 9449 section 4.2) with what one kind of server wants of them.
///
/// Nonces of an authorization server say nothing to a resource server at the same origin (RFC 9449 section 9): whoever asks the one
/// and whoever asks the other have a prover each.
final class DPoPProver: Sendable {
  /// The field a proof goes out in.
  static let field = "DPoP"

  private let clock: any EngineClock
  private let nonces = DPoPNonces()
  /// How far servers' clocks are from this machine's; those that agree are not in it.
  private let skews = Locked(BoundedCache<HTTPURL.Origin, Duration>(capacity: DPoPNonces.capacity))

  init(clock: any EngineClock) { self.clock = clock }

  /// Puts a proof into `request`, made for this one message: its method, its URL without query, its token.
  ///
  /// `HTTPURL` is normalised as RFC 9449 section 4.3 asks; `iat` is by the server's clock, as far as that is known.
  func prove(_ request: inout HTTPRequest, with key: DPoPKey, token: Secret<String>? = nil) throws(TokenError) {
    let origin = request.url.origin
    let now = clock.wallNow + (skews.withLock { $0[origin] } ?? .zero)
    var claims: JSONObject = [
      "jti": .string(Base64URL.string(SecureRandom.bytes(16))), "htm": .string(request.method),
      "htu": .string("\(request.url.withoutQuery)"), "iat": .integer(now.secondsSinceEpoch),
    ]
    if let token { claims["ath"] = .string(Self.hash(of: token)) }
    if let nonce = nonces[origin] { claims["nonce"] = .string(nonce) }
    request.fields[Self.field] = try key.sign(claims)
  }

  /// Takes in the nonce that came with `response`, of whatever status (RFC 9449 section 8.2), and the server's time; tells whether
  /// there was a nonce. `sentAt` is when its request went out, by the wall clock.
  @discardableResult
  func learn(from response: HTTPResponse, at origin: HTTPURL.Origin, sentAt: Timestamp) -> Bool {
    if let skew = ClockSkew.of(response, sentAt: sentAt, receivedAt: clock.wallNow) {
      skews.withLock { $0[origin] = skew == .zero ? nil : skew }
    }
    guard let nonce = DPoPNonces.nonce(in: response.fields) else { return false }
    nonces[origin] = nonce
    return true
  }

  /// `ath`: the token's SHA-256 in base64url.
  private static func hash(of token: Secret<String>) -> String {
    Base64URL.string(HashFunction.sha256.hash(Array(token.reveal().utf8)))
  }
}
