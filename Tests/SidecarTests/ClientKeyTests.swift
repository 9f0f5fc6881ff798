import JOSE
import PosternSupport
import Testing

@testable import PosternConfiguration

/// The files in which providers hand out a client's key. The key is the one of RFC 7515 appendix A.3.
@Suite struct ClientKeyTests {
  private static let pem = """
    -----BEGIN PRIVATE KEY-----
    MIGHAgEAMBMGByqGSM49AgEGCCqGSM49AwEHBG0wawIBAQQgjpsQnnGQmL+YBIff
    H1136cspYG6+0iY7X1fCE9+E9LKhRANCAAR/zc4ncPbEXUGDy+5v20t7WAczNXvp
    7xO6z248e9FURcfxRM0bvZt+hyzf7bnuufSzaV1uqQskrYpGIyiFiOWt
    -----END PRIVATE KEY-----

    """
  private static let point = """
    "kty":"EC","crv":"P-256","x":"f83OJ3D2xF1Bg8vub9tLe1gHMzV76e8Tus9uPHvRVEU",\
    "y":"x_FEzRu9m36HLN_tue659LNpXW6pCyStikYjKIWI5a0"
    """
  private static let jwk = #"{\#(point),"d":"jpsQnnGQmL-YBIffH1136cspYG6-0iY7X1fCE9-E9LI","kid":"k1","use":"sig"}"#
  private static let zitadel =
    #"{"type":"serviceaccount","keyId":"z1","key":"\#(pem.split(separator: "\n").joined(separator: #"\n"#))","userId":"7"}"#

  @Test(
    "a form of private key that a provider hands out is another key, or loses its kid",
    arguments: [
      (pem, nil), ("\n \t\r\n" + pem, nil), (jwk, "k1"), ("\n  " + jwk, "k1"), (#"{"keys":[\#(jwk)]}"#, "k1"),
      (jwk.replacing(#","kid":"k1""#, with: ""), nil), (zitadel, "z1"),
    ] as [(String, String?)])
  func forms(text: String, keyID: String?) throws {
    let read = try ClientKey(Secret(text))
    #expect(read.key.material.isSecret && read.key.keyID == keyID)
    #expect(read.key.thumbprint == (try JWK(pem: Array(Self.pem.utf8)).thumbprint))
    #expect(read.isPEM == (text.contains("-----BEGIN") && !text.contains("keyId")))
  }

  @Test(
    "a file without one private key is accepted, or its error shows what is in it",
    arguments: [
      "", "no key", "{", "{}", "[]", "null", #"{"keys":[]}"#, #"{"keys":[\#(jwk),\#(jwk)]}"#, #"{"keys":["x"]}"#,
      #"{"keys":\#(jwk)}"#, "{\(point)}", #"{"keys":[{\#(point)}]}"#, #"{"keyId":"z1","key":"no PEM"}"#,
      #"{"kty":"EC","crv":"P-256","d":"jpsQnnGQmL-YBIffH1136cspYG6-0iY7X1fCE9-E9LI"}"#,
      pem.replacing("MIGH", with: "MIGX"), pem.replacing("PRIVATE", with: "PUBLIC"),
    ])
  func noKey(text: String) {
    let error = #expect(throws: JOSEError.self) { try ClientKey(Secret(text)) }
    for secret in ["jpsQnnGQ", "MIGHAgEA", "no PEM"] { #expect(error.map { !"\($0)".contains(secret) } ?? true) }
  }
}
