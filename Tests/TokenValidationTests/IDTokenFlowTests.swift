import AuthEngine
import EngineTestSupport
import JOSE
import PosternCrypto
import PosternJSON
import PosternSupport
import Testing

/// Tokens that belong together: the two of a hybrid authorization, and those before and after a refresh.
@Suite struct IDTokenFlowTests {
  struct Change: Sendable, CustomTestStringConvertible {
    let claim: String
    let old: JSONValue?
    let new: JSONValue?
    let isRejected: Bool
    var testDescription: String { "\(claim): \(String(describing: old)) → \(String(describing: new))" }
  }

  private static let now: Int64 = 1_800_000_000

  @Test(
    "a refreshed token continues the one before it",
    arguments: [
      Change(claim: "none", old: nil, new: nil, isRejected: false),
      Change(claim: "iss", old: "https://other.test", new: "https://idp.test", isRejected: true),
      Change(claim: "sub", old: "user-1", new: "user-2", isRejected: true),
      Change(claim: "aud", old: ["shop", "api"], new: "shop", isRejected: true),
      Change(claim: "aud", old: "shop", new: ["shop", "api"], isRejected: false),
      Change(claim: "azp", old: "shop", new: nil, isRejected: true),
      Change(claim: "azp", old: nil, new: "shop", isRejected: true),
      Change(claim: "azp", old: "shop", new: "shop", isRejected: false),
      Change(claim: "auth_time", old: 1, new: 2, isRejected: true),
      Change(claim: "auth_time", old: 1, new: nil, isRejected: false),
      Change(claim: "nonce", old: "a", new: "b", isRejected: true),
      Change(claim: "nonce", old: "a", new: nil, isRejected: false),
      Change(claim: "nonce", old: "a", new: "a", isRejected: false),
      Change(claim: "nonce", old: nil, new: "a", isRejected: true),
      Change(claim: "iat", old: .integer(now - 9), new: .integer(now - 10), isRejected: true),
      Change(claim: "iat", old: .integer(now - 10), new: .integer(now - 9), isRejected: false),
    ])
  func refresh(_ change: Change) async throws {
    var bench = try TokenBench()
    bench.configuration.trustedAudiences = ["api"]
    bench.expectations.nonce = nil
    bench.expectations.flow = .refresh(previous: try bench.token([change.claim: change.old]))
    let fault = try await bench.verdict(on: bench.token([change.claim: change.new])).fault
    #expect(fault == (change.isRejected ? TokenFault(.refreshMismatch, "", claim: change.claim) : nil))
  }

  @Test("the token before may have expired and be under a key that is gone, but it must be a token")
  func previous() async throws {
    var bench = try TokenBench()
    bench.expectations.nonce = nil
    let old = try CompactJWS.sign(
      claims: bench.claims(["exp": 1, "iat": 0]), with: .generateEC(.p256, keyID: "gone"), algorithm: .es256)
    bench.expectations.flow = .refresh(previous: old)
    #expect(try await bench.code(of: bench.token()) == nil)
    bench.expectations.flow = .refresh(previous: "not.a.token")
    #expect(try await bench.code(of: bench.token()) == "refresh_mismatch")
  }

  @Test("the two ID tokens of a hybrid authorization speak of one subject")
  func siblings() async throws {
    var bench = try TokenBench()
    bench.expectations.flow = .hybrid(other: try bench.token())
    #expect(try await bench.code(of: bench.token(["c_hash": "x"])) == nil)
    bench.expectations.flow = .hybrid(other: try bench.token(["sub": "user-2"]))
    #expect(try await bench.code(of: bench.token(["c_hash": "x"])) == "sub_mismatch")
    bench.expectations.flow = .hybrid(other: try bench.token(["iss": "https://other.test"]))
    #expect(try await bench.code(of: bench.token(["c_hash": "x"])) == "sub_mismatch")
    bench.expectations.flow = .hybrid(other: "x")
    #expect(try await bench.code(of: bench.token(["c_hash": "x"])) == "sub_mismatch")
  }

  @Test("of many faults the first in the documented order is reported")
  func order() async throws {
    var bench = try TokenBench()
    bench.expectations.flow = .hybrid(other: try bench.token(["sub": "user-2"]))
    bench.expectations.accessToken = Secret("jHkWEdUXMU1BwAsC4vtUsZwnNvTIxEl0z9K3vx5KF0Y")
    bench.expectations.authorizationCode = Secret("Qcb0Orv1zh30vL1MPRsbm-diHiMwcLyZvn1arpZv-Jxf_11jnpEX3Tgfvk")
    bench.expectations.state = "Qcb0Orv1zh30vL1MPRsbm-diHiMwcLyZvn1arpZv-Jxf_11jnpEX3Tgfvk"
    bench.expectations.maxAge = .seconds(60)
    bench.expectations.acrValues = ["gold"]
    var claims: JSONObject = [
      "iss": "x", "sub": "", "aud": "x", "azp": "x", "exp": 1, "nbf": .integer(.max), "iat": .integer(.max),
      "nonce": "x", "auth_time": 0, "acr": "x", "at_hash": "x", "c_hash": "x", "s_hash": "x",
    ]
    let steps: [(code: String, claim: String, value: JSONValue)] = [
      ("iss_mismatch", "iss", "https://idp.test"), ("invalid_claim", "sub", "user-1"),
      ("aud_mismatch", "aud", ["shop", "x"]), ("untrusted_audience", "aud", "shop"), ("azp_mismatch", "azp", "shop"),
      ("token_expired", "exp", .integer(Self.now + 60)), ("token_not_yet_valid", "nbf", 0), ("iat_invalid", "iat", 0),
      ("nonce_mismatch", "nonce", "n-1"), ("auth_too_old", "auth_time", .integer(Self.now)),
      ("acr_mismatch", "acr", "gold"), ("at_hash_mismatch", "at_hash", "77QmUPtjPfzWtF2AnpK9RQ"),
      ("c_hash_mismatch", "c_hash", "LDktKdoQak3Pk0cnXxCltA"), ("s_hash_mismatch", "s_hash", "LDktKdoQak3Pk0cnXxCltA"),
      ("sub_mismatch", "sub", "user-2"),
    ]
    for step in steps {
      let token = try CompactJWS.sign(claims: claims, with: bench.signers.p256, algorithm: .es256)
      #expect(try await bench.code(of: token) == step.code)
      claims[step.claim] = step.value
    }
    let token = try CompactJWS.sign(claims: claims, with: bench.signers.p256, algorithm: .es256)
    #expect(try await bench.code(of: token) == nil)
  }
}
