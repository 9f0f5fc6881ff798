import AuthEngine
import EngineTestSupport
import JOSE
import PosternJSON
import PosternSupport
import Testing

/// The hash claims by algorithm and flow.
@Suite struct IDTokenHashTests {
  private static let sample =
    "YmJiZTAwYmYtMzgyOC00NzhkLTkyOTItNjJjNDM3MGYzOWIy9sFhvH8K_x8UIHj1osisS57f5DduL-ar_qw5jl3lthwpMjm283aVMQXDmoqqqydDSqJfbh"
    + "ptzw8rUVwkuQbolw"
  private static let sha256 = "x7vk7f6BvQj0jQHYFIk4ag"
  private static let sha384 = "ups_76_7CCye_J1WIyGHKVG7AAs2olYm"
  private static let sha512 = "EGEAhGYyfuwDaVTifvrWSoD5MSy_5hZPy6I7Vm-7pTQ"
  private static let shake256 = "jxsy68_eG9-91VnHsZ2VnCr_WqDMv4nspiSuUPRdNZnv1y5lNV3rPVYYWNiY_TbUB1JRwlgiDTzZ"

  @Test(
    "at_hash is made by the hash of the algorithm, Ed25519 by SHA-512, Ed448 by SHAKE256",
    arguments: [
      (SignatureAlgorithm.rs256, sha256), (.ps256, sha256), (.es256, sha256), (.es256k, sha256), (.rs384, sha384),
      (.ps384, sha384), (.es384, sha384), (.rs512, sha512), (.ps512, sha512), (.es512, sha512), (.edDSA, sha512),
      (.ed25519, sha512), (.ed448, shake256),
    ])
  func vectors(algorithm: SignatureAlgorithm, hash: String) async throws {
    var bench = try TokenBench()
    bench.expectations.accessToken = Secret(Self.sample)
    #expect(try await bench.code(of: bench.token(["at_hash": .string(hash)], algorithm: algorithm)) == nil)
    let others = Set([Self.sha256, Self.sha384, Self.sha512, Self.shake256, hash + "=", "", String(hash.dropLast())])
    for other in others.subtracting([hash]) {
      let token = try bench.token(["at_hash": .string(other)], algorithm: algorithm)
      #expect(try await bench.code(of: token) == "at_hash_mismatch")
    }
  }

  @Test("the samples of OpenID Connect Core")
  func core() async throws {
    var bench = try TokenBench()
    bench.expectations.authorizationCode = Secret("Qcb0Orv1zh30vL1MPRsbm-diHiMwcLyZvn1arpZv-Jxf_11jnpEX3Tgfvk")
    bench.expectations.accessToken = Secret("jHkWEdUXMU1BwAsC4vtUsZwnNvTIxEl0z9K3vx5KF0Y")
    bench.expectations.flow = .hybrid()
    let hashes: KeyValuePairs<String, JSONValue?> = [
      "c_hash": "LDktKdoQak3Pk0cnXxCltA", "at_hash": "77QmUPtjPfzWtF2AnpK9RQ",
    ]
    #expect(try await bench.code(of: bench.token(hashes)) == nil)
  }

  struct Presence: Sendable, CustomTestStringConvertible {
    let flow: TokenFlow
    let hasCode: Bool
    let hasToken: Bool
    let claims: [String]
    let fault: TokenFault?
    var testDescription: String {
      "\(flow), code \(hasCode), token \(hasToken), \(claims): \(fault?.code.rawValue ?? "valid")"
    }
  }

  @Test(
    "a hash is demanded where the flow demands it, and compared wherever it can be",
    arguments: [
      Presence(flow: .code, hasCode: true, hasToken: true, claims: [], fault: nil),
      Presence(
        flow: .code, hasCode: true, hasToken: true, claims: ["at_hash"],
        fault: TokenFault(.atHashMismatch, "", claim: "at_hash")),
      Presence(
        flow: .code, hasCode: true, hasToken: true, claims: ["c_hash"],
        fault: TokenFault(.cHashMismatch, "", claim: "c_hash")),
      Presence(flow: .code, hasCode: false, hasToken: false, claims: ["c_hash", "at_hash", "s_hash"], fault: nil),
      Presence(flow: .implicit, hasCode: false, hasToken: false, claims: [], fault: nil),
      Presence(
        flow: .implicit, hasCode: false, hasToken: true, claims: [],
        fault: TokenFault(.missingClaim, "", claim: "at_hash")),
      Presence(
        flow: .hybrid(), hasCode: true, hasToken: false, claims: [],
        fault: TokenFault(.missingClaim, "", claim: "c_hash")),
      Presence(
        flow: .hybrid(), hasCode: true, hasToken: true, claims: [],
        fault: TokenFault(.missingClaim, "", claim: "at_hash")),
      Presence(
        flow: .hybrid(), hasCode: false, hasToken: false, claims: [],
        fault: TokenFault(.missingClaim, "", claim: "c_hash")),
    ])
  func presence(_ presence: Presence) async throws {
    var bench = try TokenBench()
    bench.expectations.flow = presence.flow
    bench.expectations.authorizationCode = presence.hasCode ? Secret("code") : nil
    bench.expectations.accessToken = presence.hasToken ? Secret("token") : nil
    var claims = bench.claims()
    for name in presence.claims { claims[name] = "AAAAAAAAAAAAAAAAAAAAAA" }
    let token = try CompactJWS.sign(claims: claims, with: bench.signers.p256, algorithm: .es256)
    #expect(try await bench.verdict(on: token).fault == presence.fault)
  }

  @Test("s_hash is compared where the token has one")
  func stateHash() async throws {
    var bench = try TokenBench()
    bench.expectations.state = Self.sample
    #expect(try await bench.code(of: bench.token()) == nil)
    #expect(try await bench.code(of: bench.token(["s_hash": .string(Self.sha256)])) == nil)
    #expect(try await bench.code(of: bench.token(["s_hash": .string(Self.sha384)])) == "s_hash_mismatch")
  }
}
