import Testing

@testable import OAuthClient

@Suite("Lists of scopes")
struct ScopeTextTests {
  @Test("a name that is part of another one counts, or an order of names is lost, or one comes twice")
  func lists() {
    #expect(ScopeText.covers("openid orders:read orders", "orders") && !ScopeText.covers("orders:read", "orders"))
    #expect(ScopeText.covers("", "") && ScopeText.covers("a", " ") && !ScopeText.covers("", "a"))
    #expect(ScopeText.missing(in: "openid a", of: "b a  c") == ["b", "c"])
    #expect(ScopeText.missing(in: "openid", of: "OpenID") == ["OpenID"])
    #expect(ScopeText.union(["openid b", "a b", " a  openid ", ""]) == "openid b a")
    #expect(ScopeText.union([String]()) == "")
  }
}
