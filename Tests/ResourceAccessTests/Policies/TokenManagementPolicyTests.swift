import AuthEngine
import EngineTestSupport
import HTTPMessages
import PosternSupport
import PosternTestSupport
import Testing

/// The policy's URLs and their look-alikes, and what it does about rejections.
@Suite(.bothWays) struct TokenManagementPolicyTests {
  private struct Delegate: TokenManagementPolicyDelegate {
    let decision: Bool?
    let calls = Counter()

    func evaluateTokenRefresh(_ response: HTTPResponse) async -> Bool? {
      calls.next()
      return decision
    }
  }

  private struct NoToken: Error, Equatable {
    var isTransport = false
  }

  private static func token(_ value: String) async throws -> AccessToken {
    let engine = Engine { _, _ in .token(value) }
    return try await engine.tokens.token(for: ClientCredentialsGrant(issuer: .testing()))
  }

  @Test(
    "a token goes to the policy's URLs in every spelling, and to no look-alike",
    arguments: [
      ("https://api.test/base", "https://api.test/base", true),
      ("https://api.test/base", "https://api.test/base/x", false),
      ("https://api.test/base/", "https://api.test/base/x", true),
      ("https://api.test/base", "https://api.test/base?next=https://evil.test", true),
      ("https://api.test/base", "https://api.test/base/", false),
      ("https://api.test/base", "https://api.test/basement", false),
      ("https://api.test/base", "https://api.test/Base", false), ("https://api.test/base", "https://api.test/", false),
      ("https://api.test/base/", "https://api.test/base", false),
      ("https://api.test", "https://api.test/anything", true),
      // Port.
      ("https://api.test/a", "https://api.test:443/a", true), ("https://api.test:443/a", "https://api.test/a", true),
      ("https://api.test/a", "https://api.test:8443/a", false),
      ("https://api.test:8443/a", "https://api.test/a", false),
      ("https://api.test/a", "https://api.test:/a", true), ("https://api.test/a", "http://api.test:443/a", false),
      // Scheme.
      ("https://api.test/a", "http://api.test/a", false), ("http://api.test/a", "http://api.test/a", false),
      ("https://api.test/a", "HTTPS://api.test/a", true),
      // Host.
      ("https://api.test/a", "https://API.Test/a", true), ("https://API.test/a", "https://api.test/a", true),
      ("https://api.test/a", "https://api.test.evil.test/a", false),
      ("https://api.test/a", "https://evil-api.test/a", false), ("https://api.test/a", "https://sub.api.test/a", false),
      ("https://xn--bcher-kva.test/a", "https://XN--BCHER-KVA.test/a", true),
      ("https://xn--bcher-kva.test/a", "https://bucher.test/a", false),
      ("https://[::1]/a", "https://[0:0:0:0:0:0:0:1]/a", true), ("https://127.0.0.1/a", "https://127.0.0.2/a", false),
      // Dot segments: raw ones are resolved, encoded ones too, twice encoded ones are rejected.
      ("https://api.test/a/b/", "https://api.test/a/b/../b/c", true),
      ("https://api.test/a/b/", "https://api.test/a/b/../c", false),
      ("https://api.test/a/b/", "https://api.test/a/b/%2e%2e/c", false),
      ("https://api.test/a/b/", "https://api.test/a/b/%2E./c", false),
      ("https://api.test/a/b/", "https://api.test/a/b/%252e%252e/c", false),
      ("https://api.test/a/b/", "https://api.test/a/b/..%2fc", false),
      ("https://api.test/a/b/", "https://api.test/a/b/..;/c", false),
      ("https://api.test/a/b/", "https://api.test/a/b/x%5c..%5cc", false),
      ("https://api.test/a/b/", "https://api.test/a/b/%00", false),
      // Percent-encoding: unreserved characters are the same either way, an encoded slash is no boundary.
      ("https://api.test/base/", "https://api.test/b%61se/x", true),
      ("https://api.test/base", "https://api.test/b%61se", true),
      ("https://api.test/base/", "https://api.test/base%2fx", false),
    ])
  func coverage(prefix: String, url: String, isCovered: Bool) async throws {
    let policy = TokenManagementPolicy(validatingURL: [try HTTPURL(prefix)])
    let target = try HTTPURL(url)
    #expect(policy.covers(target) == isCovered)
    let request = policy.authorizing(HTTPRequest(method: "GET", url: target), with: try await Self.token("a-1"))
    #expect(request.fields["Authorization"] == (isCovered ? "Bearer a-1" : nil))
  }

  @Test(
    "what only looks like a URL of the policy is none at all",
    arguments: [
      "https://api.test@evil.test/a", "https://user:secret@api.test/a", "https://api.test./a",
      "https://api.test\\@evil.test/a",
      "https://bücher.test/a", "https://api。test/a", "https://api.test:0/a", "https://api.test:99999/a", "https:///a",
      "https://api.test /a", "//api.test/a", "https://0x7f.1/a",
    ])
  func noURL(text: String) { #expect(throws: HTTPURLError.self) { try HTTPURL(text) } }

  @Test("plain http is covered on loopback only, and only where that is allowed")
  func loopback() throws {
    let urls = [
      try HTTPURL("http://127.0.0.1:8080/a"), try HTTPURL("http://localhost/a"), try HTTPURL("http://api.test/a"),
    ]
    let allowing = TokenManagementPolicy(validatingURL: urls, allowsPlainHTTPOnLoopback: true)
    #expect(urls.map(allowing.covers) == [true, false, false])
    #expect(urls.map(TokenManagementPolicy(validatingURL: urls).covers) == [false, false, false])
  }

  @Test("a policy without URLs covers none")
  func empty() throws { #expect(!TokenManagementPolicy(validatingURL: []).covers(try HTTPURL("https://api.test/"))) }

  @Test(
    "without a delegate's decision 401 with a bearer challenge causes a refresh, or the configured statuses do",
    arguments: [
      (401, "Bearer", nil, nil, true), (401, #"Bearer error="invalid_token""#, nil, nil, true),
      (401, #"Bearer error="insufficient_scope""#, nil, nil, false),
      (401, #"Bearer error="insufficient_user_authentication""#, nil, nil, false), (401, "Basic", nil, nil, false),
      (401, "Basic, Bearer", nil, nil, true), (403, "Bearer", nil, nil, false), (200, "Bearer", nil, nil, false),
      (419, "", [419], nil, true), (401, "Bearer", [419], nil, false), (401, "Bearer", nil, false, false),
      (200, "", nil, true, true), (419, "", [419], false, false),
    ] as [(Int, String, Set<Int>?, Bool?, Bool)])
  func rule(status: Int, challenge: String, refreshOn: Set<Int>?, decision: Bool?, refreshes: Bool) async throws {
    let policy = TokenManagementPolicy(
      validatingURL: [try HTTPURL("https://api.test/")], delegate: Delegate(decision: decision), refreshOn: refreshOn)
    let token = try await Self.token("a-1")
    #expect(await policy.requiresRefresh(.status(status, ("WWW-Authenticate", challenge)), of: token) == refreshes)
  }

  @Test("a rejected request is retried once with a newer token; the second rejection is the result, after one decision")
  func once() async throws {
    let transport = ScriptedTransport { _, _ in .unauthorized }
    let delegate = Delegate(decision: nil)
    let policy = TokenManagementPolicy(validatingURL: [try HTTPURL("https://api.test/")], delegate: delegate)
    let response = try await Self.send(policy, transport, "https://api.test/x") { $0 == nil ? "a-1" : "a-2" }
    #expect(response.status == 401)
    #expect(transport.requests.map { $0.fields["Authorization"] } == ["Bearer a-1", "Bearer a-2"])
    #expect(delegate.calls.current == 1)
  }

  @Test("without a newer token the rejection is returned unchanged")
  func noNewer() async throws {
    let transport = ScriptedTransport { _, _ in .unauthorized }
    let policy = TokenManagementPolicy(validatingURL: [try HTTPURL("https://api.test/")])
    let response = try await Self.send(policy, transport, "https://api.test/x") { $0 == nil ? "a-1" : nil }
    #expect(response.status == 401 && response.fields["WWW-Authenticate"] != nil)
    #expect(transport.requests.count == 1)
  }

  @Test(
    "without a token nothing is sent to a covered URL; a request to another URL is sent unchanged, without a token")
  func failsClosed() async throws {
    let transport = ScriptedTransport { _, _ in .status(200) }
    let policy = TokenManagementPolicy(validatingURL: [try HTTPURL("https://api.test/a")])
    await #expect(throws: NoToken()) { try await Self.send(policy, transport, "https://api.test/a") { _ in nil } }
    #expect(transport.requests.isEmpty)
    let calls = Counter()
    _ = try await Self.send(policy, transport, "https://api.test/b") { _ in
      calls.next()
      return "a-1"
    }
    #expect(transport.requests.map { $0.fields["Authorization"] } == [nil] && calls.current == 0)
  }

  private static func send(
    _ policy: TokenManagementPolicy, _ transport: ScriptedTransport, _ url: String,
    value: (AccessToken?) -> String?
  ) async throws -> HTTPResponse {
    try await policy.send(
      HTTPRequest(method: "GET", url: HTTPURL(url)), over: transport, orThrow: { _ in NoToken(isTransport: true) }
    ) { rejected throws(NoToken) in
      guard let value = value(rejected), let token = try? await token(value) else { throw NoToken() }
      return token
    }
  }
}
