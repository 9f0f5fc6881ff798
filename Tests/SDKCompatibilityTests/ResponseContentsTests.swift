import AuthEngine
import EngineTestSupport
import HTTPMessages
import PosternJSON
import PosternSupport
import PosternTestSupport
import Testing

/// The body of a response as text, as JSON, and as a type of the program.
@Suite struct ResponseContentsTests {
  private struct Order: Decodable, Equatable {
    let id: Int
    let note: String?
  }

  private func response(_ body: [UInt8]) async throws -> ResourceResponse {
    let engine = Engine { _, _ in HTTPResponse(status: 200, body: body) }
    return try await engine.fetcher.fetch(ResourceRequest(path: "x"), from: .testing(authentication: .none))
  }

  @Test("text that is not UTF-8 is changed to fit, or JSON of one value is none")
  func contents() async throws {
    let order = try await response(Array(#"{"id":7,"note":"ä","more":[1]}"#.utf8))
    #expect(order.text == #"{"id":7,"note":"ä","more":[1]}"#)
    #expect(try order.json()["note"] == "ä" && order.decode(Order.self) == Order(id: 7, note: "ä"))
    let named: Order = try order.decode()
    #expect(named.id == 7)
    #expect(try await response(Array("7".utf8)).json() == 7)
    #expect(try await response(Array(#""a\u0000b""#.utf8)).json() == "a\u{0}b")
    #expect(try await response([]).text == "")
    #expect(try await response([0x61, 0xFF]).text == nil)
  }

  @Test("a body that does not fit is an error without its path, or one that quotes the body")
  func errors() async throws {
    let secret = Array("{secret".utf8)
    let malformed = try await response(secret)
    #expect(throws: JSONParseError.self) { try malformed.json() }
    let error = #expect(throws: JSONParseError.self) { try malformed.decode(Order.self) }
    #expect(error.map { "\($0)".contains("secret") } == false)
    let other = try await response(Array(#"[{"id":"seven"}]"#.utf8))
    let mismatch = #expect(throws: JSONDecodingError.self) { try other.decode([Order].self) }
    #expect(mismatch?.path == "/0/id")
  }
}

/// A program with one user names no uid: everything belongs to the uid of the process.
@Suite struct OwnUIDTests {
  @Test("a session that is made without a uid is not found without one, or by another uid")
  func sessions() async throws {
    let bench = try GrantBench()
    let issuer = try bench.issuer()
    bench.answer("/base/x") { _, _ in .status(204) }
    var given = SessionGrant.GivenTokens()
    given.accessToken = Secret("own")
    let session = try await bench.sessions.create(from: .tokens(given), at: issuer)
    #expect(try await bench.sessions.session(session.handle, in: .uid(PeerID.ownUID)).handle == session.handle)
    #expect(try await bench.sessions.onlySession(of: .user, at: "corp") == session.handle)
    #expect(try await bench.sessions.onlySession(of: .user, at: "corp", in: .uid(PeerID.ownUID &+ 1)) == nil)
    var server = try ResourceServer.testing(issuer: issuer.issuer)
    server.scope = nil
    let client = UserClient(fetcher: bench.fetcher, server: server, sessions: bench.sessions, issuer: issuer)
    #expect(try await client.sendAuthenticatedRequest(ResourceRequest(path: "x")).status == 204)
    #expect(SessionRef.only(at: issuer, sessions: bench.sessions).uid == PeerID.ownUID)
    #expect(DecisionSubject(id: "alice").uid == PeerID.ownUID && CookieScope().uid == PeerID.ownUID)
    _ = try await bench.sessions.end(session.handle, at: issuer)
    #expect(try await bench.sessions.onlySession(of: .user, at: "corp") == nil)
  }
}
