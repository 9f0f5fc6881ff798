import AuthEngine
import EngineTestSupport
import HTTPMessages
import OAuthClient
import PosternSupport
import PosternTestSupport
import Testing

@Suite("A call's path never leads out of its resource", .bothWays)
struct ResourceURLTests {
  static let bases = ["https://api.test/base/", "https://api.test/base"]

  static let accepted: [(String, String)] = [
    ("v1/orders", "https://api.test/base/v1/orders"),
    ("/v1/orders", "https://api.test/base/v1/orders"),
    ("v1/orders/", "https://api.test/base/v1/orders/"),
    ("v1?x=1&y=a/b?c", "https://api.test/base/v1?x=1&y=a/b?c"),
    ("v1#fragment", "https://api.test/base/v1"),
    ("/", "https://api.test/base/"),
    ("./v1", "https://api.test/base/v1"),
    ("a/../b", "https://api.test/base/b"),
    ("a/b/../../c", "https://api.test/base/c"),
    ("a/%2e%2e/b", "https://api.test/base/b"),
    ("a//b", "https://api.test/base/a//b"),
    ("projects/group%2Fname", "https://api.test/base/projects/group%2Fname"),
    ("a%2fb%2fc", "https://api.test/base/a%2Fb%2Fc"),
    ("50%25", "https://api.test/base/50%25"),
    ("50%2525", "https://api.test/base/50%2525"),
    ("caf%e9", "https://api.test/base/caf%E9"),
    ("%c1%81%e0%a4%85", "https://api.test/base/%C1%81%E0%A4%85"),
    ("%c0x%c0", "https://api.test/base/%C0x%C0"),
    ("caf%c3%a9", "https://api.test/base/caf%C3%A9"),
    ("a;v=1/b", "https://api.test/base/a;v=1/b"),
    ("...", "https://api.test/base/..."),
    ("..a", "https://api.test/base/..a"),
    ("a..", "https://api.test/base/a.."),
    ("/things:cancel", "https://api.test/base/things:cancel"),
    ("a@b", "https://api.test/base/a@b"),
    ("x/a:b@c", "https://api.test/base/x/a:b@c"),
    ("a%20b", "https://api.test/base/a%20b"),
    ("a%2Cb", "https://api.test/base/a%2Cb"),
    ("x/~a-._!$&'()*+,", "https://api.test/base/x/~a-._!$&'()*+,"),
    ("x?next=../../y", "https://api.test/base/x?next=../../y"),
    ("x?next=//evil.test", "https://api.test/base/x?next=//evil.test"),
    ("x?line=a%0Ab%00", "https://api.test/base/x?line=a%0Ab%00"),
    ("https://api.test/base/x", "https://api.test/base/x"),
    ("HTTPS://API.test:443/base/x", "https://api.test/base/x"),
    ("https://api.test/other/../base/x", "https://api.test/base/x"),
  ]

  @Test("a path that stays inside is appended, with and without a slash on either side", arguments: accepted, bases)
  func accepts(row: (String, String), base: String) throws {
    let server = try ResourceServer.testing(baseURL: base)
    #expect(try server.url(forPath: row.0).description == row.1)
  }

  static let invalid: [String] = [
    "..", "../", "../x", "/..", "/../x", "a/../../x", "./../x", "../base2/x", "../basement", "..//base/../x",
    "%2e%2e", "%2e%2e/x", "%2E%2e/x", ".%2e/x", "%2e./x", "a/%2e%2e/%2e%2e/x",
    "..%2fx", "..%2Fx", "a/..%2f..%2fx", "%2e%2e%2fx", "%2e%2e%2f%2e%2e%2fx", "a%2f..%2fx", "a%2f%2e%2e%2fx",
    "%252e%252e/x", "%252e%252e%252fx", "..%252fx", "%25252e%25252e%25252fx", "%2525252525252e",
    "..;/x", "..;a=b/x", "a/..;/x", "%2e%2e;/x", ".;/x", "..%3b/x", "..%3B%2fx",
    "..\\x", "\\\\evil.test\\x", "a\\..\\x", "%5c", "..%5cx", "..%5Cx", "a%5cb", "..%255cx", "/\\evil.test",
    "//evil.test", "//evil.test/x", "///evil.test", "////", "//",
    "%00", "a%00b", "a%0d%0aX:%20y", "a%7f", "a%2500", "a\u{0}", "a\r\nX: y", "a\tb", "a b", " a", "a\u{7f}", "é",
    "%c0%ae%c0%ae/x", "%c0%ae%c0%ae%c0%afx", "a/%C0%AE/x", "%e0%80%ae%e0%80%ae/x", "%f0%80%80%ae%f0%80%80%ae/x",
    "%f8%80%80%80%ae./x", "%fc%80%80%80%80%ae./x", "a%c0%afb", "a%e0%80%afb", "a%c1%9cb", "a%c0%80b", "a%c0%8d%c0%8ab",
    "a%c0%a52e%c0%a52e/x", "..%c0%bbx/y", "%25c0%25ae%25c0%25ae/x", "%2525c0%2525afx",
    "%", "%4", "%zz", "a%u0041",
    "things:cancel", "javascript:alert(1)", "file:///etc/passwd", "ftp://api.test/base/x", "mailto:a@b", "data:,x",
    "https:", "https:x", "https:/api.test/base/x", "https://", "https:///base/x",
    "https://user@api.test/base/x", "https://user:pw@api.test/base/x", "https://api.test@evil.test/base/x",
    "https://api.test\\@evil.test/base/x", "https://evil.test\\.api.test/base/x", "https://api.test%2f@evil.test/",
    "https://api.test%00.evil.test/base/x", "https://api.test./base/x", "https://0x7f.1/base/x",
    "https://:@api.test/base/x", "https://exa mple/base/x", "https://api.test:port/base/x", "//user@evil.test/",
    "gopher://api.test/base/x", "https://api.test:0/base/x", "https://api.test:99999/base/x", "https://[::1/base/x",
    "http://api.test/base/x", "http://127.0.0.1/base/x", "http://localhost/base/x",
    "https://api.test/base/..%2fx", "https://api.test/base/..;/x", "https://api.test/base/%5c..",
  ]

  @Test("a hostile path is invalid_url", arguments: invalid)
  func rejects(path: String) throws {
    for base in Self.bases {
      let server = try ResourceServer.testing(baseURL: base)
      let error = #expect(throws: ResourceError.self) { try server.url(forPath: path) }
      #expect(error?.code == .invalidURL)
      #expect(error?.path?.jsonPointer == "/path")
      #expect(error?.outcome == .notSent)
    }
  }

  static let foreign: [String] = [
    "https://evil.test/base/x", "https://api.test.evil.test/base/x", "https://api.tes/base/x",
    "https://xapi.test/base/x",
    "https://api.test:444/base/x", "https://api.test:80/base/x", "https://api.test/", "https://api.test/bas",
    "https://api.test/basement", "https://api.test/base2/x", "https://api.test/BASE/x", "https://api.test/base/../x",
    "https://api.test/base/%2e%2e/x", "https://api.test/x/base/", "https://api.test//base/x", "https://[::1]/base/x",
    "https://127.0.0.1/base/x", "https://api.test/base%2fx",
    "http://169.254.169.254/latest/meta-data/", "https://[fe80::1]/x",
    "http://metadata.google.internal/computeMetadata/",
  ]

  @Test("an absolute URL outside of every allowed base is origin_not_allowed", arguments: foreign)
  func rejectsForeign(url: String) throws {
    for base in Self.bases {
      let server = try ResourceServer.testing(baseURL: base)
      let error = #expect(throws: ResourceError.self) { try server.url(forPath: url) }
      #expect(error?.code == .originNotAllowed)
    }
  }

  @Test("the base URL without the slash at its end is outside of it")
  func slashOfTheBase() throws {
    let server = try ResourceServer.testing(baseURL: "https://api.test/base/")
    let error = #expect(throws: ResourceError.self) { try server.url(forPath: "https://api.test/base") }
    #expect(error?.code == .originNotAllowed)
  }

  /// Other spellings of 127.0.0.1, other loopback addresses, and texts that some parser reads as one of them.
  static let loopbackSpellings: [String] = [
    "[::1]", "[::ffff:127.0.0.1]", "[::ffff:7f00:1]", "[0:0:0:0:0:ffff:7f00:1]", "[64:ff9b::7f00:1]", "[fe80::1%25lo]",
    "[::1%lo]", "[::127.0.0.1]", "127.0.0.1%00", "127.0.0.01", "0177.0.0.1", "017700000001", "0x7f000001", "0x7F.0.0.1",
    "0x7f.1", "127.0.1", "127.1", "2130706433", "0", "0.0.0.0", "127.0.0.2", "127.0.0.1.", "127.0.0.1:80@127.0.0.1",
    "localhost", "localhost.", "[::1", "::1",
  ]

  @Test(
    "no spelling of an address is the configured one, neither in a path nor in a redirect", arguments: loopbackSpellings
  )
  func loopback(address: String) async throws {
    let server = try ResourceServer.testing(
      baseURL: "http://127.0.0.1:8080/open/", authentication: .none, allowsPlainHTTPOnLoopback: true)
    let url = "http://\(address):8080/open/echo"
    let error = #expect(throws: ResourceError.self) { try server.url(forPath: url) }
    #expect(error?.code == .invalidURL || error?.code == .originNotAllowed)
    let engine = Engine { _, _ in .status(302, ("Location", url)) }
    let response = try await engine.fetcher.fetch(ResourceRequest(path: "x"), from: server)
    #expect(response.status == 302 && engine.transport.requests.count == 1)
  }

  @Test("an additional origin opens itself, its prefix on a segment boundary, and nothing else")
  func additionalOrigins() throws {
    let server = try ResourceServer.testing(
      additionalOrigins: ["https://cdn.test", "https://files.test/public", "https://media.test:8443/a/"])
    for url in [
      "https://cdn.test/", "https://cdn.test/any/thing", "https://files.test/public", "https://files.test/public/x",
      "https://media.test:8443/a/x",
    ] { #expect(try server.url(forPath: url).description == url) }
    for url in [
      "https://cdn.test:8443/", "https://files.test/", "https://files.test/publicity", "https://files.test/public/../x",
      "https://media.test/a/x", "https://media.test:8443/a", "https://media.test:8443/b",
    ] {
      let error = #expect(throws: ResourceError.self) { try server.url(forPath: url) }
      #expect(error?.code == .originNotAllowed, "\(url)")
    }
  }

  @Test("plain http passes only on a loopback address and with the switch; a name is no address")
  func plainHTTP() throws {
    for (base, allowed, passes) in [
      ("http://127.0.0.1:8080/", true, true), ("http://127.9.9.9:8080/", true, true),
      ("http://[::1]:8080/", true, true),
      ("http://127.0.0.1:8080/", false, false), ("http://localhost:8080/", true, false),
      ("http://10.0.0.1/", true, false), ("http://api.test/", true, false), ("http://[::ffff:127.0.0.1]/", true, false),
    ] {
      let server = try ResourceServer.testing(baseURL: base, allowsPlainHTTPOnLoopback: allowed)
      if passes {
        #expect(try server.url(forPath: "x").description == "\(base)x")
      } else {
        let error = #expect(throws: ResourceError.self) { try server.url(forPath: "x") }
        #expect(error?.code == .invalidURL, "\(base)")
      }
    }
  }
}
