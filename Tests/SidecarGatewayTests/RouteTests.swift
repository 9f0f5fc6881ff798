import Testing

@testable import SidecarGateway

@Suite("The path of a request leads to one resource, or nowhere")
struct RouteTests {
  static let routes: [(path: String, query: String?, GatewayRoute)] = [
    ("/api", nil, .resource("api", path: "")), ("/api/", nil, .resource("api", path: "/")),
    ("/api/a/b", nil, .resource("api", path: "/a/b")), ("/api", "x=1", .resource("api", path: "?x=1")),
    ("/api/a", "", .resource("api", path: "/a?")),
    ("/api/a", "u=http://b/../c", .resource("api", path: "/a?u=http://b/../c")),
    // As sent: neither decoded nor joined. What follows is for the rules of fetchResource.
    ("/api/group%2Fname", nil, .resource("api", path: "/group%2Fname")),
    ("/api//x", nil, .resource("api", path: "//x")), ("/api/a//b", nil, .resource("api", path: "/a//b")),
    ("/api/https://evil.test/x", nil, .resource("api", path: "/https://evil.test/x")),
    ("/api/...", nil, .resource("api", path: "/...")), ("/api/%2e%2e%2e", nil, .resource("api", path: "/%2e%2e%2e")),
    ("/api/..a/b..", nil, .resource("api", path: "/..a/b..")),
    // No name at all, and names as sent, which none in a configuration are.
    ("/", nil, .resource("", path: "")), ("//api/x", nil, .resource("", path: "/api/x")),
    ("/%61pi/x", nil, .resource("%61pi", path: "/x")), ("/API/x", nil, .resource("API", path: "/x")),
    ("/.postern", nil, .reserved("")), ("/.postern/auth/orders/x", nil, .reserved("auth/orders/x")),
    ("/.postern/", "x", .reserved("")), ("/.posterns/x", nil, .resource(".posterns", path: "/x")),
  ]

  /// Catches a request that reaches another path, or another resource, than its bytes say.
  @Test("A path leads elsewhere than its bytes say", arguments: routes)
  func route(path: String, query: String?, expected: GatewayRoute) {
    #expect(GatewayRoute(path: path, query: query) == expected)
  }

  static let ambiguous = [
    "", "api/x", "*", "/..", "/.", "/api/..", "/api/.", "/api/../other", "/api/a/../b", "/api/./a", "/../api",
    "/api/%2e%2e/other", "/api/%2E%2e", "/api/.%2e/x", "/api/%2E./x", "/api/%2e", "/%2e%2e/api", "/%2epostern/../api",
    "/api\\x", "/api/..\\other", "/.postern/../api/x", "/.postern/auth/%2e%2e/x",
  ]

  /// Catches a path by which another parser would leave the resource that the rules were applied to.
  @Test("A path that another server reads differently is forwarded", arguments: ambiguous)
  func isRejected(path: String) {
    guard case .rejected = GatewayRoute(path: path, query: nil) else {
      Issue.record("\(path) is accepted")
      return
    }
  }
}
