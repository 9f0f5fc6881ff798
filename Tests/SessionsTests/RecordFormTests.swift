import OAuthClient
import PosternJSON
import PosternSupport
import SessionRecords
import Testing

@testable import Sessions

/// The encoded form of records: sidecars of other versions read them.
@Suite struct RecordFormTests {
  private static let session = """
    {"format":1,"handle":"h","issuer":"corp","issuerIdentifier":"https://idp","clientID":"c","kind":"user",\
    "subject":"user-1","scope":"openid","createdAt":1000,"expiresAt":2000,"refreshToken":"r","ssoToken":"s",\
    "unprovenSSOToken":"s","idToken":"i","claims":{"sub":"user-1"},"tokens":[{"slot":{"scope":"a"},"value":"t",\
    "scope":"a","obtainedAt":1,"lifetime":2,"type":"DPoP"}],"dpopKey":{"kty":"EC"},"resource":"https://api",\
    "isRefused":true,"implicit":{"grant":"jwt_bearer","scope":"p"},"reserved":true}
    """

  private static let login = """
    {"issuer":"corp","issuerIdentifier":"https://idp","clientID":"c","redirectURI":"http://localhost/cb",\
    "verifier":"v","nonce":"n","scope":"openid","maxAge":60,"acrValues":["gold"],"resource":"https://api",\
    "dpopKey":{"kty":"EC"},"expectsIssuer":true,"stepUp":"h"}
    """

  private func record(_ text: String) -> StoredRecord {
    StoredRecord(
      key: SessionHandle.random().key, uid: 1, version: 1, expiresAt: nil, contents: Secret(Array(text.utf8)))
  }

  private func members(_ bytes: [UInt8]) throws -> [String: JSONValue] {
    let object = try #require(try JSONParser().parse(bytes).objectValue)
    return Dictionary(uniqueKeysWithValues: object.members.map { ($0.name, $0.value) })
  }

  @Test("a session that an older version stored cannot be read, or is written with other members")
  func sessions() throws {
    let contents = try #require(SessionContents(record(Self.session)))
    #expect(contents.issuer.name == "corp" && contents.issuer.identifier == "https://idp")
    #expect(contents.grant.refreshToken == "r" && contents.grant.isRejected && contents.grant.implicit?.scope == "p")
    #expect(contents.user.subject == "user-1" && contents.user.idToken == "i" && contents.signOn.isUnproven)
    #expect(contents.life.createdAt == 1000 && contents.life.expiresAt == 2000 && contents.isReserved)
    #expect(try members(contents.storable().reveal()) == members(Array(Self.session.utf8)))
  }

  @Test("a session without optional members cannot be read, or gets them when it is written")
  func fewMembers() throws {
    let text = """
      {"format":1,"handle":"h","issuer":"corp","issuerIdentifier":"https://idp","clientID":"c","kind":"user",\
      "createdAt":1000,"tokens":[],"isRefused":false}
      """
    let contents = try #require(SessionContents(record(text)))
    #expect(contents.user.subject == nil && contents.signOn.token == nil && !contents.isRefreshable)
    #expect(try members(contents.storable().reveal()) == members(Array(text.utf8)))
  }

  @Test("a login that an older version began cannot be completed, or is written with other members")
  func logins() throws {
    let pending = try #require(PendingAuthorization.read(record(Self.login)))
    #expect(pending.issuer.clientID == "c" && pending.requirement.nonce == "n" && pending.requirement.maxAge == 60)
    #expect(try members(#require(pending.bytes).reveal()) == members(Array(Self.login.utf8)))
  }
}
