import AuthEngine
import EngineTestSupport
import HTTPMessages
import Testing

@testable import OAuthClient

/// Redirect URIs and callbacks. What passed through a browser has its form, not the one that was written.
@Suite struct RedirectURITests {
  /// Would catch: a login that fails because a browser writes a URL in another form.
  @Test(
    "a callback in another form of the redirect URI is not one",
    arguments: [
      ("https://shop.test/cb", "https://shop.test/cb"), ("http://127.0.0.1:8765", "http://127.0.0.1:8765/"),
      ("http://127.0.0.1:8765/", "http://127.0.0.1:8765"), ("http://localhost:80/cb", "http://localhost/cb"),
      ("https://Shop.Test/cb", "https://shop.test/cb"), ("HTTPS://shop.test/cb", "https://shop.test/cb"),
      ("https://shop.test:443/cb", "https://shop.test/cb"), ("https://shop.test:/cb", "https://shop.test/cb"),
      ("https://shop.test/%7euser/cb", "https://shop.test/~user/cb"),
      ("https://shop.test/a%2fb", "https://shop.test/a%2Fb"),
      ("https://shop.test/%63b", "https://shop.test/cb"), ("http://[::1]:8765/cb", "http://[0:0:0:0:0:0:0:1]:8765/cb"),
      ("https://shop.test/cb?tenant=a", "https://shop.test/cb?tenant=a"),
      ("https://shop.test/cb?tenant=a%20b", "https://shop.test/cb?tenant=a+b"),
      ("https://shop.test/cb?x=1&x=2", "https://shop.test/cb?x=1&x=2"),
      ("com.example.App:/cb", "com.example.app:/cb"), ("com.example.app:/cb", "com.example.app:/cb"),
    ])
  func equal(redirect: String, callback: String) throws {
    let separator = callback.contains("?") ? "&" : "?"
    #expect(try Self.code("\(callback)\(separator)code=c&state=s", redirect) == "c")
    #expect(RedirectURI(redirect).isLocation(of: callback))
  }

  /// Would catch: a code that is taken from another place than the one it was sent to.
  @Test(
    "a callback at another URL counts",
    arguments: [
      ("https://shop.test/cb", "https://shop.test/cb/"), ("https://shop.test/cb", "https://shop.test/CB"),
      ("https://shop.test/cb", "https://shop.test/"), ("https://shop.test/cb", "https://shop.test/cb/.."),
      ("https://shop.test/a/b", "https://shop.test/a%2Fb"), ("https://shop.test/cb", "https://shop.test//cb"),
      ("https://shop.test/cb", "http://shop.test/cb"), ("https://shop.test/cb", "https://shop.test:8443/cb"),
      ("http://127.0.0.1:8765/cb", "http://127.0.0.1:8766/cb"), ("http://127.0.0.1:8765/cb", "http://127.0.0.1/cb"),
      ("http://127.0.0.1:8765/cb", "http://localhost:8765/cb"), ("https://shop.test/cb", "https://shop.test.evil/cb"),
      ("https://shop.test/cb", "https://user@shop.test/cb"), ("https://shop.test/cb", "https://shop.test@evil.test/cb"),
      ("https://shop.test/cb#f", "https://shop.test/cb"), ("https://shop.test/cb?tenant=a", "https://shop.test/cb"),
      ("https://shop.test/cb?tenant=a", "https://shop.test/cb?tenant=b"),
      ("https://shop.test/cb?tenant=a", "https://shop.test/cb?tenant=a&tenant=b"),
      ("https://shop.test/cb?tenant=a", "https://shop.test/cb?Tenant=a"),
      ("com.example.app:/cb", "com.example.app:/CB"), ("com.example.app:/cb", "com.example.other:/cb"),
      ("com.example.app:/cb", "com.example.app://cb"), ("https://shop.test/cb", ""), ("https://shop.test/cb", "/cb"),
    ])
  func other(redirect: String, callback: String) throws {
    let separator = callback.contains("?") ? "&" : "?"
    let error = #expect(throws: AuthorizationError.self) {
      try Self.code("\(callback)\(separator)code=c&state=s", redirect)
    }
    #expect(error?.code == "redirect_uri_mismatch")
  }

  /// Would catch: a login that fails because of a parameter that nothing reads.
  @Test(
    "an unread parameter of a callback decides",
    arguments: [
      "utm=1&utm=2", "session_state=a&session_state=b", "x=%zz", "%zz=x", "x=%ff", "scope=", "error=", "=", "&&",
      "error_uri=%",
      "error_description=a&error_description=b", "id_token=", "foo[]=1&foo[]=2",
    ])
  func unread(parameters: String) throws {
    #expect(try Self.code("https://shop.test/cb?\(parameters)&code=c&state=s", "https://shop.test/cb") == "c")
    #expect(try Self.code("https://shop.test/cb?code=c&state=s&\(parameters)#_=_", "https://shop.test/cb") == "c")
    #expect(AuthorizationCallback("https://shop.test/cb?code=c&state=s&\(parameters)")?["state"] == "s")
  }

  /// Would catch: of two values of what is read, one that is picked.
  @Test("a parameter that is read counts although it is there twice", arguments: ["code", "state", "iss", "error"])
  func twice(name: String) {
    #expect(AuthorizationCallback("https://shop.test/cb?\(name)=a&\(name)=a") == nil)
    let encoded = "%\(String(name.utf8.first ?? 0, radix: 16))\(name.dropFirst())"
    #expect(AuthorizationCallback("https://shop.test/cb?\(name)=a&\(encoded)=b") == nil)
  }

  private static func code(_ url: String, _ redirect: String) throws -> String {
    let callback = try #require(AuthorizationCallback(url))
    return try callback.code(redirectURI: redirect, issuer: .testing(), requiresIssuer: false)
  }
}
