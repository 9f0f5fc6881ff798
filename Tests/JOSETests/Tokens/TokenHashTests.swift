import JOSE
import Testing

@Suite("Token hashes")
struct TokenHashTests {
  @Test("The examples of OpenID Connect Core come out")
  func coreExamples() throws {
    let code = "Qcb0Orv1zh30vL1MPRsbm-diHiMwcLyZvn1arpZv-Jxf_11jnpEX3Tgfvk"
    #expect(try TokenHash.claim(for: code, algorithm: .rs256, key: TestKeys.rsa) == "LDktKdoQak3Pk0cnXxCltA")
    let token = "jHkWEdUXMU1BwAsC4vtUsZwnNvTIxEl0z9K3vx5KF0Y"
    #expect(try TokenHash.claim(for: token, algorithm: .rs256, key: TestKeys.rsa) == "77QmUPtjPfzWtF2AnpK9RQ")
  }

  static let sample =
    "YmJiZTAwYmYtMzgyOC00NzhkLTkyOTItNjJjNDM3MGYzOWIy9sFhvH8K_x8UIHj1osisS57f5DduL-ar_qw5jl3lthwpMjm283aVMQXDmoqqqydDSqJfbhptzw8rUVwkuQbolw"

  @Test("The length and the function follow the algorithm: SHA-2 by its number, Ed25519 SHA-512, Ed448 SHAKE256")
  func byAlgorithm() throws {
    let expected: [(SignatureAlgorithm, JWK, String)] = [
      (.rs256, TestKeys.rsa, "x7vk7f6BvQj0jQHYFIk4ag"),
      (.ps256, TestKeys.rsa, "x7vk7f6BvQj0jQHYFIk4ag"),
      (.es256, TestKeys.p256, "x7vk7f6BvQj0jQHYFIk4ag"),
      (.es256k, TestKeys.secp256k1, "x7vk7f6BvQj0jQHYFIk4ag"),
      (.hs256, TestKeys.secret, "x7vk7f6BvQj0jQHYFIk4ag"),
      (.rs384, TestKeys.rsa, "ups_76_7CCye_J1WIyGHKVG7AAs2olYm"),
      (.es384, TestKeys.p384, "ups_76_7CCye_J1WIyGHKVG7AAs2olYm"),
      (.rs512, TestKeys.rsa, "EGEAhGYyfuwDaVTifvrWSoD5MSy_5hZPy6I7Vm-7pTQ"),
      (.es512, TestKeys.p521, "EGEAhGYyfuwDaVTifvrWSoD5MSy_5hZPy6I7Vm-7pTQ"),
      (.ed25519, TestKeys.ed25519, "EGEAhGYyfuwDaVTifvrWSoD5MSy_5hZPy6I7Vm-7pTQ"),
      (.edDSA, TestKeys.ed25519, "EGEAhGYyfuwDaVTifvrWSoD5MSy_5hZPy6I7Vm-7pTQ"),
      (.ed448, TestKeys.ed448, "jxsy68_eG9-91VnHsZ2VnCr_WqDMv4nspiSuUPRdNZnv1y5lNV3rPVYYWNiY_TbUB1JRwlgiDTzZ"),
      (.edDSA, TestKeys.ed448, "jxsy68_eG9-91VnHsZ2VnCr_WqDMv4nspiSuUPRdNZnv1y5lNV3rPVYYWNiY_TbUB1JRwlgiDTzZ"),
    ]
    for (algorithm, key, claim) in expected {
      #expect(try TokenHash.claim(for: Self.sample, algorithm: algorithm, key: key) == claim, "\(algorithm)")
      #expect(try TokenHash.matches(claim, value: Self.sample, algorithm: algorithm, key: key))
    }
  }

  @Test("Padding, a full-length hash, another algorithm's hash and nothing at all do not match")
  func mismatches() throws {
    let wrong = [
      "", "x7vk7f6BvQj0jQHYFIk4ag==", "x7vk7f6BvQj0jQHYFIk4aQ", "X7vk7f6BvQj0jQHYFIk4ag",
      "ups_76_7CCye_J1WIyGHKVG7AAs2olYm",
    ]
    for claim in wrong {
      #expect(try !TokenHash.matches(claim, value: Self.sample, algorithm: .rs256, key: TestKeys.rsa))
    }
    #expect(try !TokenHash.matches("x7vk7f6BvQj0jQHYFIk4ag", value: "", algorithm: .rs256, key: TestKeys.rsa))
  }

  @Test("A key of another algorithm fails instead of being skipped")
  func otherKey() {
    expectError(.keyAlgMismatch) {
      try TokenHash.claim(for: "x", algorithm: .edDSA, key: TestKeys.rsa)
    }
  }
}
