import AuthEngine
import Foundation
import Glibc
import HTTPMessages
import PlaygroundTestSupport
import PosternExamples
import PosternJSON
import PosternSupport
import Testing

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

/// The code of the Swift guide, run against the playground over libcurl.
@Suite("The Swift guide", .timeLimit(.minutes(3)))
struct GuideTests {
  @Test("the application's own token gets its orders")
  func orders() async throws {
    try await ResourceAccess.atPlayground { access, _ in
      #expect(await access.orders()?["orders"]?.arrayValue?.count == 2)
    }
  }

  @Test("factory, builder and its copy arrive as they were put together")
  func variations() async throws {
    try await ResourceAccess.atPlayground { _, baseURL in
      // The playground's open side: what is sent without a token is answered there.
      let issuerURL = baseURL.replacing("/resource/", with: "/oidc")
      let open = try ResourceAccess(issuerURL: issuerURL, baseURL: baseURL.replacing("/resource/", with: "/open/"))
      let echoes = try await open.variations().map { try JSONParser().parse($0.body) }
      #expect(echoes.map { $0["method"]?.stringValue } == ["POST", "POST", "PUT"])
      #expect(echoes[0]["headers"]?["x-flags"] == ["1000010"])
      #expect(echoes[0]["body"]?.stringValue?.contains(#"name="file"; filename="receipt.pdf""#) == true)
      #expect(echoes[1]["body"] == "username=foo%40bar.baz")
      #expect(echoes[2]["body"] == "raw" && echoes[2]["headers"]?["content-type"] == ["text/plain"])
    }
  }

  @Test("a user's request requires a login first, and then has the session's token")
  func profile() async throws {
    try await ResourceAccess.atPlayground { access, _ in
      func show() async -> (String?, NetworkTask) {
        let shown = Locked<String?>(nil)
        let task = access.profile { text in shown.withLock { $0 = text } }
        _ = await eventually { shown.withLock { $0 } != nil }
        return (shown.withLock { $0 }, task)
      }
      let (before, rejected) = await show()
      #expect(before == "log in first" && rejected.state == .completed)
      var given = SessionGrant.GivenTokens()
      given.accessToken = Secret("opaque")
      _ = try await access.sessions.create(
        from: .tokens(given), at: access.sessionIssuer, ownedBy: getuid())
      let (after, task) = await show()
      #expect(after == "status 401" && task.response?.status == 401, "an answer is an answer")
    }
  }

  @Test("a body comes in pieces, as much of it as is taken; the rest is not even sent")
  func download() async throws {
    try await ResourceAccess.atPlayground { access, _ in
      let size = Locked(0)
      let response = try await access.download("bytes/3000000") { piece in
        size.withLock { $0 += piece.count }
        return true
      }
      #expect(
        response.status == 200 && response.isStreamed && response.body.isEmpty && size.withLock { $0 } == 3_000_000)
      let pieces = Locked(0)
      let error = await #expect(throws: ResourceError.self) {
        try await access.download("bytes/500000000") { _ in
          pieces.withLock { pieces in
            pieces += 1
            return pieces < 3
          }
        }
      }
      #expect(error?.code == .requestCancelled && error?.outcome == .replied && pieces.withLock { $0 } == 3)
    }
  }

  private struct Delegate: AuthorizationPolicyDelegate, TokenManagementPolicyDelegate {
    func onPolicyAdviseReceived(
      _ advices: [PolicyAdvice], session: SessionHandle?, continuation: String?
    ) async -> Bool? { false }

    func evaluateTokenRefresh(_ response: HTTPResponse) async -> Bool? { nil }
  }

  @Test("a URL session carries the user's token to the resource server")
  func urlSession() async throws {
    try await ResourceAccess.atPlayground { access, baseURL in
      let session = try access.urlSession(delegate: Delegate())
      let url = try #require(URL(string: baseURL + "echo/profile"))
      await #expect(throws: URLError.self) { _ = try await session.data(from: url) }
      var given = SessionGrant.GivenTokens()
      given.accessToken = Secret("opaque")
      _ = try await access.sessions.create(from: .tokens(given), at: access.sessionIssuer, ownedBy: getuid())
      let (_, head) = try await session.data(from: url)
      #expect((head as? HTTPURLResponse)?.statusCode == 401, "the token has come, and is none of the playground's")
      #expect(
        (head as? HTTPURLResponse)?.value(forHTTPHeaderField: "WWW-Authenticate")?.contains("invalid_token") == true)
    }
  }
}
