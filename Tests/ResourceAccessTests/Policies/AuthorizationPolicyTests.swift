import AuthEngine
import HTTPMessages
import PosternSupport
import PosternTestSupport
import Testing

/// Which answers count, who decides, and how a retried request is marked.
@Suite(.bothWays) struct AuthorizationPolicyTests {
  private struct Delegate: AuthorizationPolicyDelegate {
    var found: [PolicyAdvice]?
    var update: RequestUpdate?
    var isSatisfied: Bool?

    func onPolicyAdviceReceived(
      _ advices: [PolicyAdvice], session: SessionHandle?, continuation: String?
    ) async -> Bool? { isSatisfied }
    func evaluateAuthorizationPolicy(_ response: HTTPResponse) async -> [PolicyAdvice]? { found }
    func updateRequest(_ request: HTTPRequest, txId: String?) async -> RequestUpdate? { update }
  }

  private static let denial = AdviceVectors.body("{\"TransactionConditionAdvice\":[\"t-1\"]}")

  private static func policy(_ delegate: Delegate? = nil) throws -> AuthorizationPolicy {
    AuthorizationPolicy(validatingURL: [try HTTPURL("https://api.test/shop/")], delegate: delegate)
  }

  private static func request(_ url: String) throws -> HTTPRequest {
    HTTPRequest(method: "GET", url: try HTTPURL(url), fields: HTTPFields([.init(name: "X-A", value: "1")]))
  }

  @Test("Answers from elsewhere are looked into, or a token comes into the request")
  func coverage() async throws {
    let policy = try Self.policy()
    for (url, isCovered) in [
      ("https://api.test/shop/", true), ("https://api.test/shop/x?y", true), ("https://api.test/shop", false),
      ("https://api.test/shopping", false), ("https://api.test:8443/shop/", false),
      ("https://api.test.evil.test/shop/", false), ("http://api.test/shop/", false),
    ] {
      let url = try HTTPURL(url)
      #expect(policy.covers(url) == isCovered)
      #expect(await policy.evaluateAuthorizationPolicy(Self.denial, from: url).isEmpty != isCovered)
    }
    let updated = try await policy.updating(Self.request("https://api.test/shop"), for: "t-1")
    #expect(updated.fields["Authorization"] == nil)
  }

  @Test(
    "Advice counts at some statuses only, or in a response without a member `advices`",
    arguments: [200, 201, 400, 401, 402, 403, 404, 409, 412, 500])
  func everyStatus(status: Int) async throws {
    let url = try HTTPURL("https://api.test/shop/x")
    for (body, count) in [(#"{"advices":{"TransactionConditionAdvice":["x"]}}"#, 1), (#"{"orders":[]}"#, 0)] {
      let response = HTTPResponse(status: status, body: Array(body.utf8))
      #expect(try await Self.policy().evaluateAuthorizationPolicy(response, from: url).count == count)
    }
  }

  @Test(
    "The transaction is not named, named twice, or in the wrong case",
    arguments: [
      ("https://api.test/shop", "_txid=t%2F1"), ("https://api.test/shop?a=1", "a=1&_txid=t%2F1"),
      ("https://api.test/shop?_txid=old&a=%26&_txid=older", "a=%26&_txid=t%2F1"),
      ("https://api.test/shop?_txId=old&%5Ftxid=x&b", "b&_txid=t%2F1"),
      ("https://api.test/shop?my_txid=kept", "my_txid=kept&_txid=t%2F1"),
    ])
  func marking(_ url: String, query: String) async throws {
    let policy = try Self.policy()
    let once = try await policy.updating(Self.request(url), for: "t/1")
    #expect(once.url.query == query && once.fields["X-A"] == "1")
    #expect(try await policy.updating(once, for: "t/1").url.query == query)
    #expect(try await policy.updating(Self.request(url), for: nil).url == HTTPURL(url))
  }

  @Test("A delegate's decision does not take precedence over the built-in one, or its URL is outside of the policy")
  func delegates() async throws {
    let url = try HTTPURL("https://api.test/shop/x")
    let other = PolicyAdvice(type: "Own", value: "x")
    #expect(
      try await Self.policy(Delegate(found: [other])).evaluateAuthorizationPolicy(Self.denial, from: url) == [other])
    #expect(try await Self.policy(Delegate(found: [])).evaluateAuthorizationPolicy(Self.denial, from: url) == [])
    #expect(try await Self.policy(Delegate()).evaluateAuthorizationPolicy(Self.denial, from: url).count == 1)
    #expect(try await Self.policy(Delegate(isSatisfied: true)).satisfy([other]) == true)
    #expect(try await Self.policy().satisfy([other]) == nil)
    let request = try Self.request("https://api.test/shop/x?a=1")
    let own = Delegate(update: RequestUpdate(url: "/shop/y", headers: HTTPFields([.init(name: "x-a", value: "2")])))
    let updated = try await Self.policy(own).updating(request, for: "t")
    #expect("\(updated.url)" == "https://api.test/shop/y" && updated.fields.values(of: "X-A") == ["2"])
    for target in [
      "https://evil.test/shop", "//evil.test/shop", "/other", "/shop/../other", "javascript:x", "http://api.test/shop",
    ] {
      let policy = try Self.policy(Delegate(update: RequestUpdate(url: target)))
      await #expect(throws: HTTPURLError.self) { try await policy.updating(request, for: "t") }
    }
  }
}
