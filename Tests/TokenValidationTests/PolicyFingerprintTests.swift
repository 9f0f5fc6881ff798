import AuthEngine
import Testing

@testable import TokenValidation

/// The distinction of two policies in the cache of verdicts.
@Suite struct PolicyFingerprintTests {
  private func bytes(_ fill: (inout PolicyFingerprint) -> Void) -> [UInt8] {
    var fingerprint = PolicyFingerprint(kind: "test")
    fill(&fingerprint)
    return fingerprint.bytes
  }

  @Test("values that run into each other, and values that are absent, have fingerprints of their own")
  func distinct() {
    let all = [
      bytes {
        $0.add(["a", "b"]); $0.add([String]())
      },
      bytes {
        $0.add(["a"]); $0.add(["b"])
      },
      bytes {
        $0.add([String]()); $0.add(["a", "b"])
      },
      bytes {
        $0.add(["ab"]); $0.add([String]())
      },
      bytes {
        $0.add("ab"); $0.add("")
      },
      bytes {
        $0.add("a"); $0.add("b")
      },
      bytes { $0.add(String?.none) }, bytes { $0.add(String?.some("")) },
      bytes { $0.add("e\u{301}") }, bytes { $0.add("\u{E9}") },
      PolicyFingerprint(kind: "other").bytes,
    ]
    #expect(Set(all).count == all.count)
    #expect(bytes { $0.add(Duration?.none) } != bytes { $0.add(Duration?.some(.zero)) })
  }

  @Test("a token and a policy never trade bytes")
  func key() {
    var long = PolicyFingerprint(kind: "test")
    long.add("x")
    let keys = [
      VerdictKey(token: "a.b.c", policy: PolicyFingerprint(kind: "test")), VerdictKey(token: "a.b.c", policy: long),
      VerdictKey(token: "a.b.", policy: PolicyFingerprint(kind: "test")),
    ]
    #expect(Set(keys).count == keys.count)
  }
}
