import AuthEngine
import EngineTestSupport
import JOSE
import PosternJSON
import PosternTestSupport
import Testing

/// A token as a person looks at it: everything that can be read, everything that is wrong, nothing trusted.
@Suite struct TokenInspectorTests {
  let bench: TokenBench
  let inspector: TokenInspector

  init() throws {
    bench = try TokenBench()
    inspector = TokenInspector(clock: bench.clock)
  }

  @Test(
    "an unreadable token shows nothing but the reason; nothing traps",
    arguments: [
      ("", "malformed_token"), (".", "malformed_token"), ("..", "malformed_token"), ("....", "malformed_token"),
      ("a.b.c", "malformed_token"), ("e30.e30.AA", "malformed_token"),
      (String(repeating: "a", count: 70_000), "token_too_large"),
      (String(repeating: ".", count: 70_000), "token_too_large"),
    ])
  func unreadable(token: String, code: String) {
    let inspection = inspector.inspect(token)
    #expect(inspection.findings.first?.code.rawValue == code)
    #expect(inspection.signature == .notChecked)
  }

  @Test("a good token has no findings, and its signature is reported as valid only when keys were given")
  func good() throws {
    let token = try bench.token()
    #expect(inspector.inspect(token).findings == [])
    #expect(inspector.inspect(token).signature == .notChecked)
    let expectations = TokenInspector.Expectations(keys: bench.signers.published)
    #expect(inspector.inspect(token, expecting: expectations).signature == .valid)
  }

  @Test("every fault is reported, not only the first")
  func allFaults() throws {
    let token = try bench.token(["exp": 1, "iat": nil, "sub": nil])
    let findings = inspector.inspect(token, expecting: .init(issuer: "https://other.test", audience: "other")).findings
    let codes = Set(findings.map { "\($0.code.rawValue) \($0.claim ?? "")" })
    let expected: Set = [
      "iss_mismatch iss", "missing_claim sub", "aud_mismatch aud", "token_expired exp", "missing_claim iat",
    ]
    #expect(codes.isSuperset(of: expected), "\(codes)")
  }
}
