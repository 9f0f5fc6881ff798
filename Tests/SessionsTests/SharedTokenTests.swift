import AuthEngine
import EngineTestSupport
import HTTPMessages
import PosternSupport
import PosternTestSupport
import Testing

@testable import OAuthClient
@testable import Sessions

/// All users share the tokens from client credentials: a user who has one cannot revoke it for the others.
@Suite struct SharedTokenTests {
  private static let header = "eyJhbGciOiJFUzI1NiJ9"
  private static let shared = "\(header).eyJqdGkiOiIxIn0.c2lnbmF0dXJl"

  /// A bench whose issuer, or another one, has given the sidecar a token.
  private func bench(_ token: String = shared, from issuer: Issuer? = nil) async throws -> SessionBench {
    let bench = try SessionBench()
    bench.provider.withLock { $0.answers = [.token(token, expiresIn: 600)] }
    _ = try await bench.deviceTokens.token(for: ClientCredentialsGrant(issuer: issuer ?? bench.issuer.issuer))
    return bench
  }

  private func session(_ bench: SessionBench, refreshToken: String? = nil) async throws -> Session {
    var given = SessionGrant.GivenTokens()
    given.accessToken = Secret(Self.shared)
    given.refreshToken = refreshToken.map { Secret($0) }
    return try await bench.sessions.create(from: .tokens(given), at: bench.issuer, in: .uid(1))
  }

  private func revoked(_ bench: SessionBench) -> [String] {
    bench.transport.requests(to: "https://idp.test/revoke").map { request in
      let form = FormEncoding.decode(String(decoding: request.body ?? [], as: UTF8.self)) ?? []
      return form.first { $0.name == "token" }?.value ?? ""
    }
  }

  private func expectRejection(_ body: () async throws(SessionError) -> Void) async {
    let error = await #expect(throws: SessionError.self) { try await body() }
    guard case .sharedToken? = error?.kind else {
      Issue.record("\(String(describing: error))")
      return
    }
  }

  @Test(
    "one user has a token revoked that all use, as it is or in another spelling that a server may take",
    arguments: [
      shared, " \(shared)\n", "\(shared)==", "\(header).eyJqdGkiOiIxIn0.c2lnbmF0dXJm", "\(header)!.eyJqdGkiOiIxIn0.",
    ])
  func revocation(spelling: String) async throws {
    let bench = try await bench()
    for hint in [nil, "access_token", "refresh_token"] {
      await expectRejection { () async throws(SessionError) in
        try await bench.sessions.revoke(Secret(spelling), hint: hint, at: bench.issuer, in: .uid(1))
      }
    }
    #expect(revoked(bench).isEmpty)
  }

  private static let key = "ory_at_Zm9zaXRlIGtleSAwMQ"
  private static let signature = "c2lnbmF0dXJlIG9mIGZvc2l0ZQ"
  private static let payload = "eyJqdGkiOiIxMjM0NTY3ODkwIn0"

  @Test(
    "a token that all use is revoked by the part that a server looks tokens up by, or in other letters",
    arguments: [
      ("\(key).\(signature)", "x.\(signature)"), ("\(key).\(signature)", "a.b.\(signature)"),
      ("\(key).\(signature)", signature), ("\(key).\(signature)", "\(key).x"),
      ("\(header).\(payload).\(signature)", "a.b.\(signature)"),
      ("\(header).\(payload).\(signature)", "a.\(payload).b"),
      ("\(header)..aXY.\(signature).dGFn", "a..b.\(signature).c"),
      ("short-KEY", "SHORT-key"), ("\(key).\(signature)", "x.\(signature.uppercased())"),
    ])
  func parts(token: String, spelling: String) async throws {
    let bench = try await bench(token)
    await expectRejection { () async throws(SessionError) in
      try await bench.sessions.revoke(Secret(spelling), hint: nil, at: bench.issuer, in: .uid(1))
    }
    #expect(revoked(bench).isEmpty)
  }

  @Test(
    "a user cannot have their own token revoked, because it has a header, a footer or a prefix that all tokens of the issuer have",
    arguments: [
      ("\(header).\(payload).\(signature)", "\(header).eyJqdGkiOiIyIn0.b3duIHNpZ25hdHVyZSAwMQ"),
      ("\(header).e30.\(signature)", "\(header).e30.b3duIHNpZ25hdHVyZSAwMQ"),
      ("\(header)..aXY.\(signature).dGFn", "\(header)..aXY.b3duIHNpZ25hdHVyZSAwMQ.dGFo"),
      ("v4.public.\(payload).Zm9vdGVyIG9mIGFsbA", "v4.public.b3duIHBheWxvYWQgMDAx.Zm9vdGVyIG9mIGFsbA"),
      ("tenant-1.\(signature)", "tenant-1.b3duIHNpZ25hdHVyZSAwMQ"),
    ])
  func common(token: String, own: String) async throws {
    let bench = try await bench(token)
    try await bench.sessions.revoke(Secret(own), hint: nil, at: bench.issuer, in: .uid(1))
    #expect(revoked(bench) == [own])
  }

  @Test("an issuer keeps tokens of another one from being revoked, by giving what it has seen of them as its own")
  func anotherIssuer() async throws {
    let hostile = try Issuer.testing(identifier: "https://evil.test", endpoints: [.token: "https://evil.test/token"])
    let bench = try await bench(from: hostile)
    try await bench.sessions.revoke(Secret(Self.shared), hint: nil, at: bench.issuer, in: .uid(1))
    #expect(revoked(bench) == [Self.shared])
  }

  @Test("a token that all use is revoked by way of another client of the same issuer")
  func anotherClient() async throws {
    let bench = try await bench(from: .testing(clientID: "other"))
    await expectRejection { () async throws(SessionError) in
      try await bench.sessions.revoke(Secret(Self.shared), hint: nil, at: bench.issuer, in: .uid(1))
    }
    #expect(revoked(bench).isEmpty)
  }

  @Test("a token that all use now is revoked, when its digests have been forgotten")
  func current() async throws {
    let bench = try await bench()
    // So many parts that those noted last push out those noted first.
    func parts(_ number: Int) -> [String] { (100..<330).map { "\(number + 100)-\($0)-of-parts" } }
    for number in 0..<40 {
      bench.provider.withLock { $0.answers = [.token(parts(number).joined(separator: "."), expiresIn: 600)] }
      let grant = ClientCredentialsGrant(issuer: bench.issuer.issuer, scope: "\(number)")
      _ = try await bench.deviceTokens.token(for: grant)
    }
    await expectRejection { () async throws(SessionError) in
      try await bench.sessions.revoke(Secret(parts(0)[0]), hint: nil, at: bench.issuer, in: .uid(1))
    }
    #expect(revoked(bench).isEmpty)
  }

  @Test("a user's own token is taken for one that all use, because it looks like one")
  func others() async throws {
    let bench = try await bench()
    let own = ["\(Self.header).eyJqdGkiOiIyIn0.c2lnbmF0dXJl", "v4.public.abc", "c2lnbmF0dXJl", ""]
    for token in own { try await bench.sessions.revoke(Secret(token), hint: nil, at: bench.issuer, in: .uid(1)) }
    #expect(revoked(bench) == own)
  }

  @Test("a session with a token that all use has it revoked, or cannot be ended because of it")
  func sessions() async throws {
    let bench = try await bench()
    let session = try await session(bench)
    await expectRejection { () async throws(SessionError) in
      try await bench.sessions.revokeTokens(of: session.handle, at: bench.issuer, in: .uid(1))
    }
    // It is as it was.
    #expect(try await bench.token(session).value.reveal() == Self.shared)
    #expect(
      try await bench.sessions.end(session.handle, at: bench.issuer, in: .uid(1)) == UserSessions.UpstreamEnd.none)
    #expect(try await bench.store.count(in: .session) == 0)
    let other = try await self.session(bench, refreshToken: "own")
    #expect(try await bench.sessions.end(other.handle, at: bench.issuer, in: .uid(1)) == .ended)
    #expect(revoked(bench) == ["own"])
  }

  @Test("a grant whose token is replaced without end makes the current one of another grant be forgotten, or none is")
  func bounded() throws {
    func grant(_ scope: String) throws -> ClientCredentialsGrant {
      ClientCredentialsGrant(issuer: try .testing(), scope: scope)
    }
    let issuer = try Issuer.testing()
    func digests(_ text: String) -> [SharedTokens.Digest] { SharedTokens.digests(of: Secret(text), at: issuer) }
    var tokens = SharedTokens(capacity: 10)
    tokens.note(digests("quiet"), of: try grant("a"))
    for number in 0..<100 { tokens.note(digests("busy-\(number)"), of: try grant("b")) }
    func busy() -> [Int] { (0..<100).filter { tokens.contains(any: digests("busy-\($0)")) } }
    #expect(tokens.contains(any: digests("quiet")) && busy() == Array(91..<100))
    // Look-ups of old tokens do not evict the latest.
    for number in 91..<99 { _ = tokens.contains(any: digests("busy-\(number)")) }
    tokens.note(digests("third"), of: try grant("c"))
    #expect(busy() == Array(92..<100))
  }
}
