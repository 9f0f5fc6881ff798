import Foundation
import HTTPMessages
import PosternExamples
import PosternKit
import PosternURLLoading
import Testing

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

/// A session's own settings over libcurl and a real server.
@Suite("Settings of URL sessions over the real transport", .timeLimit(.minutes(3)))
struct URLSessionSettingsTests {
  private func withSession(
    _ body: (URLSession, (String) throws -> URLRequest) async throws -> Void
  ) async throws {
    try await ResourceAccess.atPlayground { access, baseURL in
      PosternURLProtocol.resources = [ProtectedResource(access.server, fetcher: access.engine.fetcher)]
      PosternURLProtocol.tokenManagementPolicy = TokenManagementPolicy(
        validatingURL: [access.server.baseURL], allowsPlainHTTPOnLoopback: true)
      defer {
        PosternURLProtocol.resources = []
        PosternURLProtocol.tokenManagementPolicy = nil
      }
      let configuration = URLSessionConfiguration.ephemeral
      configuration.httpAdditionalHeaders = ["X-Shop": "7"]
      configuration.timeoutIntervalForRequest = 5
      try await body(try PosternURLProtocol.makeSession(configuration: configuration)) { path in
        URLRequest(url: try #require(URL(string: baseURL + path)))
      }
    }
  }

  private func json(_ data: Data) throws -> JSONValue { try JSONParser().parse(Array(data)) }

  @Test("an additional field or a cookie does not reach the server, or an old Authorization does")
  func fields() async throws {
    try await withSession { session, request in
      var first = try request("echo")
      first.setValue("Bearer old", forHTTPHeaderField: "Authorization")
      let (echo, head) = try await session.data(for: first)
      #expect((head as? HTTPURLResponse)?.statusCode == 200)
      #expect(try json(echo)["headers"]?["x-shop"] == ["7"])
      _ = try await session.data(for: try request("cookies?set=basket%3D1%3B%20Path%3D/"))
      let (cookies, _) = try await session.data(for: try request("cookies"))
      #expect(try json(cookies)["cookies"] == ["basket=1"])
    }
  }

  @Test("a slow answer arrives after the session's time limit, or a large body has a bound")
  func limits() async throws {
    try await withSession { session, request in
      var slow = try request("slow?ms=60000")
      slow.timeoutInterval = 0.5
      let limited = slow
      let error = await #expect(throws: URLError.self) { _ = try await session.data(for: limited) }
      #expect(error?.code == .timedOut)
      let (body, _) = try await session.data(for: try request("bytes/25000000"))
      #expect(body.count == 25_000_000)
    }
  }
}
