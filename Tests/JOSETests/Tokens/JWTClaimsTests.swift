import JOSE
import PosternJSON
import PosternSupport
import Testing

@Suite("Tokens: types of claims")
struct JWTClaimsTests {
  @Test(
    "String claims must be strings",
    arguments: ["iss", "sub", "nonce", "azp", "acr", "at_hash", "c_hash", "s_hash", "jti", "sid", "client_id"])
  func strings(_ name: String) throws {
    #expect(try JWTClaims([name: "x"]).string(name) == "x")
    for value: JSONValue in [1, 1.5, true, .null, [], ["x"], [:]] {
      #expect { try JWTClaims([name: value]) } throws: { error in
        (error as? JOSEError)?.code == .invalidClaimType && (error as? JOSEError)?.claim == name
      }
    }
  }

  @Test(
    "Times must be numbers: no string that looks like one, no boolean", arguments: ["exp", "nbf", "iat", "auth_time"])
  func times(_ name: String) {
    for value: JSONValue in ["1300819380", true, .null, [], [:]] {
      expectError(.invalidClaimType) { try JWTClaims([name: value]) }
    }
  }

  @Test("Times are seconds since the epoch, with fractions, and far ones are clamped instead of trapping")
  func timeValues() throws {
    #expect(try JWTClaims(["exp": 1_300_819_380]).expiresAt == Timestamp(secondsSinceEpoch: 1_300_819_380))
    #expect(try JWTClaims(["iat": 1.5]).issuedAt == Timestamp(millisecondsSinceEpoch: 1500))
    #expect(try JWTClaims(["nbf": 1e300]).notBefore == Timestamp(millisecondsSinceEpoch: .max))
    #expect(try JWTClaims(["nbf": -1e300]).notBefore == Timestamp(millisecondsSinceEpoch: .min))
    #expect(try JWTClaims(["exp": .integer(.max)]).expiresAt == Timestamp(millisecondsSinceEpoch: .max))
    #expect(try JWTClaims(["auth_time": -5]).authenticatedAt == Timestamp(secondsSinceEpoch: -5))
    #expect(try JWTClaims([:]).expiresAt == nil)
  }

  @Test("aud is a string or a non-empty array of strings")
  func audience() throws {
    #expect(try JWTClaims(["aud": "a"]).audiences == ["a"])
    #expect(try JWTClaims(["aud": ["a", "b"]]).audiences == ["a", "b"])
    #expect(try JWTClaims([:]).audiences == nil)
    for value: JSONValue in [[], [1], ["a", .null], 1, .null, [:], true] {
      expectError(.invalidClaimType) { try JWTClaims(["aud": value]) }
    }
  }
}
