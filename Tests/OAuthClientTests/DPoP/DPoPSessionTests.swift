import AuthEngine
import EngineTestSupport
import HTTPMessages
import PosternJSON
import PosternSupport
import PosternTestSupport
import Testing

@testable import OAuthClient
@testable import ResourceAccess
@testable import SessionRecords
@testable import Sessions

/// Sessions whose tokens are bound to a key of their own.
@Suite struct DPoPSessionTests {
  @Test("a session has one key, from its first token on, also in the process after this one")
  func oneKey() async throws {
    let bench = try DPoPBench()
    let session = try await bench.session()
    let first = try await bench.token(session)
    _ = try await bench.token(session, replacing: first)
    #expect(try await bench.fetch(session).status == 200)
    let next = try DPoPBench(store: bench.store)
    #expect(try await next.fetch(session).status == 200)
    _ = try await next.token(session, replacing: next.token(session))
    let proofs = try
      (bench.requests("token") + bench.transport.requests(to: "https://api.test/")
      + next.transport.requests).map { try Proof($0) }
    #expect(proofs.count == 5 && Set(proofs.map(\.thumbprint)).count == 1)
    #expect(Set(proofs.map { $0["jti"] }).count == 5)
    let other = try await bench.session()
    #expect(try Proof(#require(bench.requests("token").last)).thumbprint != proofs[0].thumbprint)
    #expect(other.handle != session.handle)
  }

  @Test("nothing that shows or dumps a session, a token or a key shows the key")
  func secret() async throws {
    let bench = try DPoPBench()
    let session = try await bench.session()
    let token = try await bench.token(session)
    let record = try await bench.record(session)
    let scalar = try #require(record["dpopKey"]?["d"]?.stringValue)
    let key = try #require(token.binding.key)
    var dumped = "\(session) \(token) \(key) \(String(reflecting: token)) \(String(reflecting: key))"
    dump(token, to: &dumped)
    dump(key, to: &dumped)
    #expect(!dumped.contains(scalar) && dumped.contains(key.thumbprint))
  }

  @Test(
    "a record from before there were keys is read; its session gets a key at the next refresh, stored before it is used"
  )
  func oldRecord() async throws {
    let old = try DPoPBench(usesDPoP: false)
    let session = try await old.session()
    var members = try await old.record(session)
    #expect(members["dpopKey"] == nil && members["resource"] == nil, "a record without a key is as it ever was")
    #expect(members["tokens"]?.arrayValue?.first?["type"] == nil)
    let stored = Locked<[Bool]>([])
    let store = old.store
    let bench = try DPoPBench(store: store) { request in
      if request.url.path == "/token" { stored.withLock { $0.append(request.fields["DPoP"] != nil) } }
      return nil
    }
    let bearer = try await bench.token(session)
    #expect(bearer.type == .bearer && bearer.value.reveal() == "a-1")
    let bound = try await bench.token(session, replacing: bearer)
    #expect(bound.type == .dpop && stored.withLock { $0 } == [true])
    members = try await bench.record(session)
    #expect(members["dpopKey"]?["crv"] == "P-256")
    #expect(members["format"] == 1)
  }

  @Test("the key is in the store when the request that it is for goes out: a crash loses no refresh token with it")
  func keyFirst() async throws {
    let old = try DPoPBench(usesDPoP: false)
    let session = try await old.session()
    let bench = try DPoPBench(store: old.store) { request in
      request.url.path == "/token" ? .status(503) : nil
    }
    let bearer = try await bench.token(session)
    await #expect(throws: SessionError.self) { try await bench.token(session, replacing: bearer) }
    let key = try #require(try await DPoPKey(record: bench.record(session)["dpopKey"] ?? .null))
    #expect(try Proof(#require(bench.requests("token").last)).thumbprint == key.thumbprint)
  }

  @Test(
    "for a resource that requires bound tokens an older bearer token is refreshed once; an issuer that binds none gets no further request"
  )
  func upgrade() async throws {
    for binds in [true, false] {
      let old = try DPoPBench(usesDPoP: false)
      let session = try await old.session()
      let bench = try DPoPBench(store: old.store, binds: binds)
      for _ in 0..<3 {
        if binds {
          #expect(try await bench.fetch(session).status == 200)
        } else {
          let error = await #expect(throws: ResourceError.self) { try await bench.fetch(session) }
          #expect(error?.code == .notAuthenticated && error?.upstream?.code == "token_not_bound")
        }
      }
      #expect(bench.requests("token").count == 1)
      #expect(bench.transport.requests(to: "https://api.test/").count == (binds ? 3 : 0))
    }
  }

  @Test("tokens that a caller brought are bearer tokens: not for a resource that wants bound ones")
  func given() async throws {
    let bench = try DPoPBench()
    var tokens = SessionGrant.GivenTokens()
    tokens.accessToken = Secret("given")
    let session = try await bench.sessions.create(from: .tokens(tokens), at: bench.issuer, in: .uid(1))
    #expect(try await bench.token(session).type == .bearer)
    let error = await #expect(throws: ResourceError.self) { try await bench.fetch(session) }
    #expect(error?.code == .notAuthenticated && bench.transport.requests.isEmpty)
    tokens.refreshToken = Secret("r-0")
    let renewable = try await bench.sessions.create(from: .tokens(tokens), at: bench.issuer, in: .uid(1))
    #expect(try await bench.fetch(renewable).status == 200)
  }

  @Test("a session keeps its key when its issuer is configured without: its refresh token may be bound")
  func configuredBack() async throws {
    let bench = try DPoPBench()
    let session = try await bench.session()
    let plain = try DPoPBench(store: bench.store, usesDPoP: false)
    _ = try await plain.sessions.token(
      TokenNeed(rejected: plain.token(session)), of: session.handle, at: plain.issuer, in: .uid(1))
    #expect(
      try Proof(#require(plain.requests("token").last)).thumbprint
        == Proof(#require(bench.requests("token").last)).thumbprint)
  }

  @Test("an authorization names its key, pushed or not, and the code is redeemed with it (RFC 9449 section 10)")
  func authorization() async throws {
    for isPushed in [true, false] {
      let bench = try DPoPBench(
        endpoints: isPushed
          ? [:] : [.token: "https://idp.test/token", .authorization: "https://idp.test/authorize"])
      var request = AuthorizationRequest(redirectURI: "http://127.0.0.1/callback")
      request.scope = "orders"
      request.resource = "https://api.test/base"
      let begun = try await bench.sessions.beginAuthorization(request, at: bench.issuer, in: .uid(1))
      let query = isPushed ? bench.forms("par")[0] : Self.query(begun.url)
      let thumbprint = try #require(query["dpop_jkt"])
      #expect(query["resource"] == "https://api.test/base")
      if isPushed { #expect(try Proof(bench.requests("par")[0]).thumbprint == thumbprint) }
      let session = try await bench.sessions.completeAuthorization(
        callback: "http://127.0.0.1/callback?code=c&state=\(begun.state)", state: begun.state,
        issuer: { _ throws(SessionError) in bench.issuer }, in: .uid(1))
      #expect(try Proof(bench.requests("token")[0]).thumbprint == thumbprint)
      #expect(try await bench.token(session).binding.key?.thumbprint == thumbprint)
    }
  }

  @Test("a device authorization polls with one key until its user has decided")
  func device() async throws {
    let count = Counter()
    let bench = try DPoPBench(endpoints: [:]) { request in
      request.url.path == "/token" && count.next() < 3
        ? .json(#"{"error":"authorization_pending"}"#, status: 400) : nil
    }
    let begun = try await bench.sessions.beginDeviceAuthorization(at: bench.issuer, scope: nil, in: .uid(1))
    for _ in 0..<3 {
      bench.clock.advance(by: .seconds(6))
      _ = try? await bench.sessions.completeDeviceAuthorization(
        begun.handle, issuer: { _ throws(SessionError) in bench.issuer }, in: .uid(1))
    }
    let proofs = try bench.requests("token").map { try Proof($0) }
    #expect(proofs.count == 3 && Set(proofs.map(\.thumbprint)).count == 1)
    let session = try #require(try await bench.sessions.sessions(in: .uid(1)).first)
    #expect(try await bench.token(session).binding.key?.thumbprint == proofs[0].thumbprint)
  }

  private static func query(_ url: String) -> [String: String] {
    let members = FormEncoding.decode(String(url.drop { $0 != "?" }.dropFirst())) ?? []
    return Dictionary(members.map { ($0.name, $0.value) }) { first, _ in first }
  }

  @Test("a session whose key cannot be read requests tokens without a binding")
  func unreadableKey() async throws {
    let bench = try DPoPBench()
    let session = try await bench.session()
    let record = try #require(try await bench.store.record(for: session.handle.key))
    var members = try await bench.record(session)
    members["dpopKey"] = ["kty": "EC"]
    try await bench.store.replace(
      StoredRecord(
        key: record.key, uid: record.uid, version: record.version + 1, expiresAt: record.expiresAt,
        contents: Secret(JSONWriter().write(.object(members)))), under: nil)
    let next = try DPoPBench(store: bench.store)
    let error = await #expect(throws: SessionError.self) { try await next.token(session) }
    guard case .store(let fault)? = error?.kind else {
      Issue.record("\(String(describing: error))")
      return
    }
    #expect(fault.kind == .corrupted && next.requests("token").isEmpty)
    #expect(throws: SessionError.self) { try DPoPKey.recorded(["kty": "EC"]) }
    #expect(try DPoPKey.recorded(nil) == nil)
  }

  @Test("an issuer whose tokens are to be bound gets a token request without a proof")
  func noKey() async throws {
    let bench = try DPoPBench()
    let requests = bench.sessions.shared.requests
    let error = await #expect(throws: TokenError.self) {
      try await requests.token(
        [(name: "grant_type", value: "client_credentials")], at: bench.issuer.issuer, key: nil, in: CallScope())
    }
    guard case .notPossible? = error?.kind else {
      Issue.record("\(String(describing: error))")
      return
    }
    #expect(bench.requests("token").isEmpty)
  }
}
