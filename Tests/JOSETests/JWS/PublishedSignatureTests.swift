import JOSE
import PosternJSON
import Testing

@Suite("JWS, published vectors")
struct PublishedSignatureTests {
  @Test(
    "The examples of RFC 7515, 7520, 7797 and 8037 verify and give their payload", arguments: Vector.load("rfc-jws"))
  func verifies(_ vector: Vector) throws {
    let algorithm = try #require(SignatureAlgorithm(name: vector.string("alg")))
    let jws = try CompactJWS(vector.string("token"))
    #expect(try jws.algorithm(allowed: [algorithm]).name == algorithm.name)
    #expect(try jws.verifiedPayload(with: vector.key(), algorithm: algorithm) == vector.bytes("payload"))
  }

  @Test("The examples whose algorithm is deterministic come out the same when signed here")
  func signsTheSame() throws {
    let vectors = Vector.load("rfc-jws").filter { ["RS256", "HS256", "EdDSA"].contains($0.string("alg")) }
    #expect(vectors.count == 6)
    for vector in vectors {
      let algorithm = try #require(SignatureAlgorithm(name: vector.string("alg")))
      let jws = try CompactJWS(vector.string("token"))
      // The header's text cannot be chosen when signing, so only the header that we would write ourselves is compared.
      let header = JSONObject(jws.header.parameters.members.filter { $0.name != "alg" }.map { ($0.name, $0.value) })
      let token = try CompactJWS.sign(
        vector.bytes("payload"), with: vector.key().identified(by: nil), algorithm: algorithm, header: header)
      let ours = token.split(separator: ".")
      let theirs = vector.string("token").split(separator: ".")
      #expect(ours[1] == theirs[1])
      if ours[0] == theirs[0] { #expect(ours[2] == theirs[2], "\(vector.testDescription)") }
    }
  }

  @Test("RFC 7515 A.5, the unsecured JWS, is rejected with and without a signature part")
  func unsecured() {
    let unsecured =
      "eyJhbGciOiJub25lIn0.eyJpc3MiOiJqb2UiLA0KICJleHAiOjEzMDA4MTkzODAsDQogImh0dHA6Ly9leGFtcGxlLmNvbS9pc19yb290Ijp0cnVlfQ."
    expectError(.algNotAllowed) { try CompactJWS(unsecured) }
    expectError(.algNotAllowed) {
      try CompactJWS(unsecured + "AA").algorithm(allowed: SignatureAlgorithm.all)
    }
  }

  @Test("The negative example of RFC 7515 appendix E, an unknown critical extension, is rejected")
  func criticalExtension() {
    let token =
      "eyJhbGciOiJub25lIiwNCiAiY3JpdCI6WyJodHRwOi8vZXhhbXBsZS5jb20vVU5ERUZJTkVEIl0sDQogImh0dHA6Ly9leGFtcGxlLmNvbS9VTkRFRklORUQiOnRydWUNCn0.RkFJTA.AA"
    expectError(.unsupportedCrit) { try CompactJWS(token) }
  }

  @Test(
    "Tokens that joserfc and jwcrypto made (generated for this test, not published) verify",
    arguments: Vector.load("interop-jws"))
  func verifiesOthers(_ vector: Vector) throws {
    let algorithm = try #require(SignatureAlgorithm(name: vector.string("alg")))
    let jws = try CompactJWS(vector.string("token"))
    #expect(try jws.verifiedPayload(with: vector.key(), algorithm: algorithm) == vector.bytes("payload"))
    let publicKey = try vector.key().publicKey ?? vector.key()
    #expect(try jws.verifiedPayload(with: publicKey, algorithm: algorithm) == vector.bytes("payload"))
  }

  @Test(
    "Signatures by the right key in another form than the algorithm's (made with pyca/cryptography) are rejected",
    arguments: Vector.load("rejected-jws"))
  func rejectsOtherForms(_ vector: Vector) throws {
    let algorithm = try #require(SignatureAlgorithm(name: vector.string("alg")))
    let jws = try CompactJWS(vector.string("token"))
    let key = try vector.key()
    expectError(.badSignature) { try jws.verifiedPayload(with: key, algorithm: algorithm) }
  }

  @Test("The vector files are there, so that no argument list is silently empty")
  func filesArePresent() {
    #expect(Vector.load("rfc-jws").count == 11)
    #expect(Vector.load("interop-jws").count == 31)
    #expect(Vector.load("rejected-jws").count == 7)
    #expect(Vector.load("rfc-jwe").count == 12)
    #expect(Vector.load("rfc-jwe-rejected").count == 5)
    #expect(Vector.load("interop-jwe").count == 75)
    #expect(Vector.load("rfc-thumbprints").count == 3)
    #expect(Vector.load("rfc-keys").count == 7)
    #expect(Vector.load("pem").count == 16)
    #expect(Vector.load("pem-rejected").count == 9)
  }
}
