import AuthEngine
import EngineTestSupport
import JOSE
import PosternJSON
import PosternSupport
import Testing

/// C1: size, parts, base64url, JSON, types.
@Suite struct IDTokenEncodingTests {
  static let header = #"{"alg":"ES256","kid":"p256"}"#

  @Test(
    "a token that is no compact serialization is rejected before anything of it is used",
    arguments: [
      "", ".", "..", "...", "a", "a.b", "a.b.c.d", "a.b.c.d.e.f", " ", "{}", #"{"payload":"","signatures":[]}"#,
    ])
  func notCompact(token: String) async throws {
    #expect(try await TokenBench().code(of: token) == "malformed_token")
  }

  static let repairs: [@Sendable (String) -> String] = [
    { " " + $0 }, { $0 + "\n" }, { "." + $0 }, { $0 + "." }, { $0 + "=" }, { $0.replacing(".", with: "..") },
    { "+" + String($0.dropFirst()) }, { $0.replacing(".", with: "=.") }, { $0 + "AAA" }, { $0 + "\u{0}" },
    { $0.split(separator: ".")[..<2].joined(separator: ".") + "." },
  ]

  @Test(
    "white space, empty parts, padding and the standard alphabet are not quietly repaired", arguments: repairs.indices)
  func notRepaired(index: Int) async throws {
    let bench = try TokenBench()
    #expect(try await bench.code(of: Self.repairs[index](bench.token())) == "malformed_token")
  }

  @Test("65,536 bytes may be judged, one more is not looked at, however many dots it has")
  func size() async throws {
    let bench = try TokenBench()
    let token = try bench.token(["pad": .string(String(repeating: "x", count: 48_000))])
    #expect(token.utf8.count <= 65_536)
    #expect(try await bench.code(of: token) == nil)
    #expect(try await bench.code(of: String(repeating: "a", count: 65_537)) == "token_too_large")
    #expect(try await bench.code(of: String(repeating: ".", count: 1_000_000)) == "token_too_large")
    #expect(try await bench.code(of: String(repeating: ".", count: 65_536)) == "malformed_token")
  }

  @Test(
    "JSON that is not exactly one bounded object is malformed",
    arguments: [
      "", "null", "[]", #""text""#, "{} {}", "{}x", "\u{FEFF}{}", #"{"a":1e400}"#, #"{"a":"\u0000"}"#,
      #"{"a":"\ud800"}"#,
      #"{"exp":99999999999999999999}"#, #"{"a":NaN}"#,
      #"{"a":"# + String(repeating: "[", count: 40) + String(repeating: "]", count: 40) + "}",
    ])
  func json(text: String) async throws {
    let bench = try TokenBench()
    #expect(try await bench.code(of: TokenBench.raw(header: Self.header, payload: text)) == "malformed_token")
    #expect(try await bench.code(of: TokenBench.raw(header: text, payload: "{}")) == "malformed_token")
  }

  @Test(
    "two members of one name are rejected, also when one is written with escapes",
    arguments: [
      #"{"sub":"a","sub":"b"}"#, #"{"sub":"a","\u0073ub":"b"}"#, #"{"x":{"a":1,"\u0061":2}}"#,
    ])
  func duplicates(text: String) async throws {
    let bench = try TokenBench()
    #expect(try await bench.code(of: TokenBench.raw(header: Self.header, payload: text)) == "duplicate_claim")
    let header = String(text.dropLast()) + #","alg":"ES256"}"#
    #expect(try await bench.code(of: TokenBench.raw(header: header, payload: "{}")) == "duplicate_claim")
  }

  @Test(
    "a claim of another JSON type is never converted",
    arguments: [
      ("iss", .integer(1)), ("sub", .array(["a"])), ("nonce", .null), ("azp", .bool(true)), ("acr", .integer(1)),
      ("at_hash", .integer(1)), ("c_hash", .array([])), ("exp", "9999999999"), ("exp", .bool(true)), ("exp", .null),
      ("iat", "0"), ("nbf", .array([])), ("auth_time", "1"), ("aud", .array([])), ("aud", .array([.integer(1)])),
      ("aud", .integer(1)), ("aud", .null), ("aud", .object([:])),
    ] as [(String, JSONValue)])
  func types(name: String, value: JSONValue) async throws {
    let bench = try TokenBench()
    let fault = try await bench.verdict(on: bench.token([name: value])).fault
    #expect(fault?.code == .invalidClaimType)
    #expect(fault?.claim == name)
  }

  @Test("encoding is judged before the header, the header before the key, the key before the signature")
  func order() async throws {
    var bench = try TokenBench()
    let parts = try bench.token(["exp": 1, "iss": "x"]).split(separator: ".").map(String.init)
    let tampered = Base64URL.string(Array(#"{"sub":1}"#.utf8))
    bench.configuration.algorithms = [.rs256]
    #expect(try await bench.code(of: "\(parts[0]).\(tampered).\(parts[2])") == "invalid_claim_type")
    #expect(try await bench.code(of: parts.joined(separator: ".")) == "alg_not_allowed")
    bench.configuration.algorithms = [.es256]
    bench.source.replace(by: JWKSet([]))
    #expect(try await bench.code(of: parts.joined(separator: ".")) == "key_not_found")
    bench.source.replace(by: bench.signers.published)
    let foreign = try #require(bench.token().split(separator: ".").last)
    #expect(try await bench.code(of: "\(parts[0]).\(parts[1]).\(foreign)") == "bad_signature")
    #expect(try await bench.code(of: parts.joined(separator: ".")) == "iss_mismatch")
  }

  @Test("crit is a fault of the header, reported after a payload that cannot be read")
  func criticalAfterEncoding() async throws {
    let bench = try TokenBench()
    let header = #"{"alg":"ES256","kid":"p256","crit":["exp"],"exp":1}"#
    #expect(try await bench.code(of: TokenBench.raw(header: header, payload: "[]")) == "malformed_token")
    #expect(try await bench.code(of: TokenBench.raw(header: header, payload: "{}")) == "unsupported_crit")
    let other = #"{"alg":"XX","crit":["exp"],"exp":1}"#
    #expect(try await bench.code(of: TokenBench.raw(header: other, payload: "{}")) == "alg_not_allowed")
  }
}
