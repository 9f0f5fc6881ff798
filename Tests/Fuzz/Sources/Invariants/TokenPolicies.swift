import AuthEngine
import JOSE
import PosternSupport

/// The configurations and expectations that inputs are judged by, and time standing still at 1,800,000,000.
enum TokenPolicies {
  struct Policy: Sendable {
    let configuration: IDTokenConfiguration
    let expectations: IDTokenExpectations
    let oracle: ClaimOracle
    var isPlain = false
  }

  static let issuer = "https://idp.test"
  static let now: Int64 = 1_800_000_000
  static let clock = StoppedClock()
  static let keys = StaticJWKSet(FixedMaterial.shared.published)
  static let nonce = "n-0S6_WzA2Mj"

  static let configuration = IDTokenConfiguration(
    issuer: issuer, algorithms: SignatureAlgorithm.all, clockSkew: .seconds(10),
    clientSecret: Secret(FixedMaterial.clientSecret),
    encryption: TokenEncryptionPolicy(
      keys: FixedMaterial.shared.keys.filter { $0.material.isSecret && $0.keyType != .oct },
      algorithms: TokenEncryptionPolicy.defaultAlgorithms + KeyManagementAlgorithm.symmetric))

  /// The policies: without requirements; with every requirement; of a refresh.
  static let all: [Policy] = [plain, demanding, refresh]

  private static let plain = Policy(
    configuration: configuration, expectations: IDTokenExpectations(clientID: "shop"), oracle: ClaimOracle(),
    isPlain: true)

  private static var demanding: Policy {
    var expectations = IDTokenExpectations(
      clientID: "shop", nonce: nonce, authorizationCode: Secret("code"), accessToken: Secret("token"),
      flow: .hybrid())
    expectations.state = "state"
    expectations.maxAge = .seconds(600)
    expectations.acrValues = ["gold", "silver"]
    expectations.trustedAudiences = ["till"]
    expectations.requiresAuthorizedParty = true
    var oracle = ClaimOracle(needed: ["nonce", "auth_time", "acr", "c_hash", "at_hash"], trusted: ["till"])
    oracle.nonce = nonce
    return Policy(configuration: configuration, expectations: expectations, oracle: oracle)
  }

  private static var refresh: Policy {
    var configuration = configuration
    configuration.algorithms = SignatureAlgorithm.asymmetric
    configuration.maximumTokenAge = .seconds(3600)
    let header = Array(#"{"alg":"Ed25519","kid":"Ed25519"}"#.utf8)
    let claims = Array(#"{"iss":"https://idp.test","sub":"user","aud":"shop","exp":1700000600,"iat":1700000000}"#.utf8)
    let previous = Base64URL.string(header) + "." + Base64URL.string(claims) + ".AAAA"
    return Policy(
      configuration: configuration,
      expectations: IDTokenExpectations(clientID: "shop", flow: .refresh(previous: previous)),
      oracle: ClaimOracle(subject: "user"))
  }
}

/// A clock that never advances.
struct StoppedClock: EngineClock {
  var wallNow: Timestamp { Timestamp(secondsSinceEpoch: TokenPolicies.now) }

  var monotonicNow: MonotonicInstant { MonotonicInstant(nanoseconds: 1) }

  func sleep(for duration: Duration) async throws {}
}
