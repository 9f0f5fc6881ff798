import JOSE
import PosternJSON
import Testing

@Suite("Tokens: size, shape and encoding")
struct EncodingTests {
  static let valid = compact(#"{"alg":"HS256"}"#, "{}")

  @Test(
    "Any number of parts but three is malformed, and empty ones are counted",
    arguments: [
      "", ".", "..", "a", "a.b", "a..b.c", ".a.b.c.", "a.b.c.", ".a.b.c", "a.b.c.d", "....", "a.b.c.d.e", "a.b.c.d.e.f",
    ])
  func partCount(_ token: String) {
    expectError(.malformedToken) { try CompactJWS(token) }
  }

  @Test("A million dots are rejected without being split (CVE-2025-27144)")
  func manyDots() {
    let dots = String(repeating: ".", count: 1_000_000)
    expectError(.tokenTooLarge) { try CompactSerialization(dots) }
    expectError(.malformedToken) { try CompactSerialization(dots, limits: TokenLimits(maxBytes: 2_000_000)) }
  }

  @Test("The size limit is exact and comes before anything else")
  func sizeLimit() {
    let limits = TokenLimits(maxBytes: Self.valid.utf8.count)
    #expect(throws: Never.self) { try CompactJWS(Self.valid, limits: limits) }
    expectError(.tokenTooLarge) {
      try CompactJWS(Self.valid, limits: TokenLimits(maxBytes: Self.valid.utf8.count - 1))
    }
    expectError(.tokenTooLarge) { try CompactJWS(String(repeating: "A", count: 65_537)) }
    expectError(.malformedToken) { try CompactJWS(String(repeating: "A", count: 65_536)) }
  }

  @Test(
    "Padding, white space, the other alphabet and unused bits are rejected in every part",
    arguments: ["=", "==", " ", "\n", "\t", "+", "/", "\u{e9}", "\u{0}", "%3D"])
  func alphabet(_ junk: String) {
    let parts = Self.valid.split(separator: ".").map(String.init)
    for index in parts.indices {
      for text in [parts[index] + junk, junk + parts[index]] {
        var changed = parts
        changed[index] = text
        #expect(throws: JOSEError.self, "\(text)") { try CompactJWS(changed.joined(separator: ".")) }
      }
    }
  }

  @Test("Non-zero unused bits make another token text of the same bytes: rejected")
  func unusedBits() {
    // "AQ" is one byte; "AR" is the same byte with a bit in what must be zero.
    let good = "eyJhbGciOiJIUzI1NiJ9.e30.AQ"
    #expect(throws: Never.self) { try CompactJWS(good) }
    expectError(.malformedToken) { try CompactJWS("eyJhbGciOiJIUzI1NiJ9.e30.AR") }
    expectError(.malformedToken) { try CompactJWS("eyJhbGciOiJIUzI1NiJ9.e31.AQ") }
    expectError(.malformedToken) { try CompactJWS("eyJhbGciOiJIUzI1NiJ9.e30.A") }
  }

  @Test("White space around a token is not trimmed")
  func noTrimming() {
    for token in [" " + Self.valid, Self.valid + "\n", "\u{feff}" + Self.valid, Self.valid + " "] {
      expectError(.malformedToken) { try CompactJWS(token) }
    }
  }

  @Test(
    "A header that is not one JSON object with a string alg is malformed",
    arguments: [
      "", "[]", "null", "1", #""alg""#, "{", "{}", #"{"alg":1}"#, #"{"alg":null}"#, #"{"alg":["HS256"]}"#,
      #"{"alg":"HS256"}{}"#, #"{"alg":"HS256"} x"#, "\u{feff}{\"alg\":\"HS256\"}", #"{"alg":"HS256","x":"\u0000"}"#,
      #"{"alg":"HS256","x":1e400}"#, #"{"alg":"HS256","x":123456789012345678901234567890}"#, #"{"alg":"HS256",}"#,
      #"{'alg':'HS256'}"#, #"{"alg":"HS256","kid":1}"#, #"{"alg":"HS256","typ":{}}"#, #"{"alg":"HS256","cty":[]}"#,
      #"{"alg":"HS256","x":"\ud800"}"#,
    ])
  func headers(_ header: String) {
    expectError(.malformedToken) { try CompactJWS(compact(header, "{}")) }
  }

  @Test(
    "A member given twice is rejected, in the header and in the claims, also behind an escape",
    arguments: [
      #"{"alg":"HS256","alg":"none"}"#, #"{"alg":"HS256","\u0061lg":"none"}"#, #"{"alg":"HS256","x":{"y":1,"y":2}}"#,
    ])
  func duplicates(_ object: String) throws {
    expectError(.duplicateClaim) { try CompactJWS(compact(object, "{}")) }
    let jws = try CompactJWS(compact(#"{"alg":"HS256"}"#, object))
    expectError(.duplicateClaim) { try jws.unverifiedClaims() }
  }

  @Test("Deep nesting is rejected, in the header and in the claims (CVE-2025-53864)")
  func depth() throws {
    let deep = #"{"alg":"HS256","x":"# + String(repeating: "[", count: 5000) + String(repeating: "]", count: 5000) + "}"
    expectError(.malformedToken) { try CompactJWS(compact(deep, "{}")) }
    let jws = try CompactJWS(compact(#"{"alg":"HS256"}"#, deep))
    expectError(.malformedToken) { try jws.unverifiedClaims() }
  }

  @Test("Claims must be one JSON object in UTF-8", arguments: ["", "[]", "1", "null", "x", #"{"a":"x"#])
  func claims(_ payload: String) throws {
    let jws = try CompactJWS(compact(#"{"alg":"HS256"}"#, payload))
    expectError(.malformedToken) { try jws.unverifiedClaims() }
  }

  @Test("The JSON serialization is not accepted where a compact token must be")
  func jsonSerialization() {
    expectError(.malformedToken) {
      try CompactJWS(#"{"payload":"e30","protected":"eyJhbGciOiJIUzI1NiJ9","signature":"AQ"}"#)
    }
  }

  @Test(
    "No error quotes the token", arguments: ["c2VjcmV0.c2VjcmV0.c2VjcmV0", "eyJhbGciOiJzZWNyZXQifQ.c2VjcmV0.c2VjcmV0"])
  func errorsAreDiscreet(_ token: String) {
    do {
      _ = try verify(token, keys: JWKSet([]))
      Issue.record("accepted")
    } catch { #expect(!"\(error)".contains("secret") && !"\(error)".contains("c2VjcmV0")) }
  }
}
