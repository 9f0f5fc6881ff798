import HTTPMessages
import Testing

@Suite("HTTPURL parses strictly and normalises")
struct HTTPURLTests {
  struct Accepted: CustomTestStringConvertible, Sendable {
    let text: String
    let normal: String
    var testDescription: String { String(text.prefix(60)) }
    init(_ text: String, _ normal: String) {
      self.text = text
      self.normal = normal
    }
  }

  static let accepted: [Accepted] = [
    .init("https://example.com", "https://example.com/"),
    .init("HTTPS://EXAMPLE.com:443/", "https://example.com/"),
    .init("http://example.com:80", "http://example.com/"),
    .init("http://example.com:443", "http://example.com:443/"),
    .init("https://example.com:", "https://example.com/"),
    .init("https://example.com:08443/x", "https://example.com:8443/x"),
    .init("https://example.com?x", "https://example.com/?x"),
    .init("https://example.com/?", "https://example.com/?"),
    .init("https://example.com#frag", "https://example.com/"),
    .init("https://example.com/a#b?c", "https://example.com/a"),
    .init("https://example.com/a?b#c", "https://example.com/a?b"),
    .init("https://example.com/a?b?c/d", "https://example.com/a?b?c/d"),
    .init("https://e.com/a/../b/./c/.", "https://e.com/b/c/"),
    .init("https://e.com/a/..", "https://e.com/"),
    .init("https://e.com/../../a", "https://e.com/a"),
    .init("https://e.com/a/%2e%2E/b", "https://e.com/b"),
    .init("https://e.com/a/.%2e", "https://e.com/"),
    .init("https://e.com/a//b///", "https://e.com/a//b///"),
    .init("https://e.com/a//..", "https://e.com/a/"),
    .init("https://e.com/...", "https://e.com/..."),
    .init("https://e.com/%7euser/%41%2f%5c", "https://e.com/~user/A%2F%5C"),
    .init("https://e.com/%c3%a9?q=%c3%a9", "https://e.com/%C3%A9?q=%C3%A9"),
    .init("https://e.com/?a[b]=1", "https://e.com/?a%5Bb%5D=1"),
    .init("https://e.com/<x>?a={\"b\":1}", "https://e.com/%3Cx%3E?a=%7B%22b%22:1%7D"),
    .init("https://e.com/auth0|1^2`3/..|/x", "https://e.com/auth0%7C1%5E2%603/..%7C/x"),
    .init("https://e.com/%25%32%65", "https://e.com/%252e"),
    .init("https://e.com/a:b@c;d=1,2!$&'()*+", "https://e.com/a:b@c;d=1,2!$&'()*+"),
    .init("https://xn--bcher-kva.example/", "https://xn--bcher-kva.example/"),
    .init("https://my_service-1.local:65535", "https://my_service-1.local:65535/"),
    .init("https://127.0.0.1/", "https://127.0.0.1/"),
    .init("https://255.255.255.255:1", "https://255.255.255.255:1/"),
    .init("https://1.2.3.4.example/", "https://1.2.3.4.example/"),
    .init("https://0xcafe.example/", "https://0xcafe.example/"),
    .init("https://[::1]:8443/", "https://[::1]:8443/"),
    .init("https://[::]/", "https://[::]/"),
    .init("https://[2001:DB8:0:0:0:0:0:1]", "https://[2001:db8::1]/"),
    .init("https://[2001:db8::0:1:0:0:1]", "https://[2001:db8::1:0:0:1]/"),
    .init("https://[2001:db8:0:1:1:1:1:1]", "https://[2001:db8:0:1:1:1:1:1]/"),
    .init("https://[2001:0:0:1:0:0:0:1]", "https://[2001:0:0:1::1]/"),
    .init("https://[1::]", "https://[1::]/"),
    .init("https://[1:2:3:4:5:6:7::]", "https://[1:2:3:4:5:6:7:0]/"),
    .init("https://[::ffff:127.0.0.1]", "https://[::ffff:127.0.0.1]/"),
    .init("https://[::ffff:7f00:1]", "https://[::ffff:127.0.0.1]/"),
    .init("https://[64:ff9b::192.0.2.1]", "https://[64:ff9b::c000:201]/"),
    .init("https://[1:2:3:4:5:6:1.2.3.4]", "https://[1:2:3:4:5:6:102:304]/"),
  ]

  @Test("two spellings of one URL become one", arguments: accepted)
  func accepts(_ row: Accepted) throws {
    let url = try HTTPURL(row.text)
    #expect(url.description == row.normal)
    #expect(try HTTPURL(url.description) == url, "normalising twice changes nothing")
  }

  struct Rejected: CustomTestStringConvertible, Sendable {
    let text: String
    let reason: HTTPURLError.Reason
    var testDescription: String { String(text.prefix(60)) }
    init(_ text: String, _ reason: HTTPURLError.Reason) {
      self.text = text
      self.reason = reason
    }
  }

  static let rejected: [Rejected] = [
    .init("", .notAbsolute),
    .init("example.com", .notAbsolute),
    .init("/path", .notAbsolute),
    .init("//example.com/", .notAbsolute),
    .init("1https://example.com/", .notAbsolute),
    .init("://example.com", .notAbsolute),
    .init("ftp://example.com/", .unsupportedScheme),
    .init("file:///etc/passwd", .unsupportedScheme),
    .init("javascript:alert(1)", .unsupportedScheme),
    .init("httpss://example.com", .unsupportedScheme),
    .init("https:example.com", .missingAuthority),
    .init("https:/example.com", .missingAuthority),
    .init("https:", .missingAuthority),
    .init("https://", .emptyHost),
    .init("https:///path", .emptyHost),
    .init("https://:443/", .emptyHost),
    .init("https://?x", .emptyHost),
    .init("https://user@example.com/", .userInformation),
    .init("https://user:pass@example.com/", .userInformation),
    .init("https://@example.com/", .userInformation),
    .init("https://api.example.com@evil.example/", .userInformation),
    .init("https://example.com./", .invalidHost),
    .init("https://.example.com/", .invalidHost),
    .init("https://example..com/", .invalidHost),
    .init("https://exa%6dple.com/", .invalidHost),
    .init("https://exam!ple.com/", .invalidHost),
    .init("https://*.example.com/", .invalidHost),
    .init("https://\(String(repeating: "a", count: 64)).example/", .invalidHost),
    .init("https://\(String(repeating: "a.", count: 127))a/", .invalidHost),
    .init("https://0x7f.1/", .invalidHost),
    .init("https://0x7f000001/", .invalidHost),
    .init("https://2130706433/", .invalidHost),
    .init("https://0177.0.0.1/", .invalidHost),
    .init("https://127.1/", .invalidHost),
    .init("https://127.0.0.01/", .invalidHost),
    .init("https://127.0.0.256/", .invalidHost),
    .init("https://1.2.3.4.5/", .invalidHost),
    .init("https://example.0x/", .invalidHost),
    .init("https://[::1/", .invalidHost),
    .init("https://[::1]x/", .invalidHost),
    .init("https://[]/", .invalidHost),
    .init("https://[:]/", .invalidHost),
    .init("https://[:::]/", .invalidHost),
    .init("https://[::1::]/", .invalidHost),
    .init("https://[1:2:3:4:5:6:7]/", .invalidHost),
    .init("https://[1:2:3:4:5:6:7:8:9]/", .invalidHost),
    .init("https://[1:2:3:4::5:6:7:8]/", .invalidHost),
    .init("https://[12345::]/", .invalidHost),
    .init("https://[::g]/", .invalidHost),
    .init("https://[fe80::1%25eth0]/", .invalidHost),
    .init("https://[::1.2.3.4:1]/", .invalidHost),
    .init("https://[::01.2.3.4]/", .invalidHost),
    .init("https://[1.2.3.4::]/", .invalidHost),
    .init("https://[v1.x]/", .invalidHost),
    .init("https://example.com:0/", .invalidPort),
    .init("https://example.com:65536/", .invalidPort),
    .init("https://example.com:99999999999999999999/", .invalidPort),
    .init("https://example.com:-1/", .invalidPort),
    .init("https://example.com:80:80/", .invalidPort),
    .init("https://example.com/a b", .controlCharacter),
    .init(" https://example.com/", .controlCharacter),
    .init("https://example.com/\n", .controlCharacter),
    .init("https://example.com/\r\nX: y", .controlCharacter),
    .init("https://example.com/\u{0}", .controlCharacter),
    .init("https://example.com/\u{7f}", .controlCharacter),
    .init("https://example.com\t/", .controlCharacter),
    .init("https:\\\\example.com/", .backslash),
    .init("https://example.com\\@evil.example/", .backslash),
    .init("https://bücher.example/", .notASCII),
    .init("https://example.com/é", .notASCII),
    .init("https://ｅxample.com/", .notASCII),
    .init("https://example.com/%", .invalidPercentEncoding),
    .init("https://example.com/%4", .invalidPercentEncoding),
    .init("https://example.com/%zz", .invalidPercentEncoding),
    .init("https://example.com/?%u00e9", .invalidPercentEncoding),
    .init("https://e.com/\(String(repeating: "a", count: HTTPURL.maxBytes))", .tooLong),
  ]

  @Test("a text that two parsers could read differently is rejected, with the rule it broke", arguments: rejected)
  func rejects(_ row: Rejected) {
    #expect(throws: HTTPURLError(row.reason)) { try HTTPURL(row.text) }
  }

  @Test("an error never quotes the URL")
  func noSecretInErrors() {
    for reason in HTTPURLError.Reason.allCases { #expect(!HTTPURLError(reason).description.isEmpty) }
    do {
      _ = try HTTPURL("https://user:hunter2@example.com/")
      Issue.record("accepted")
    } catch {
      #expect(!"\(error) \(String(reflecting: error))".contains("hunter2"))
    }
  }

  @Test("only addresses count as loopback, never names")
  func loopback() throws {
    for text in ["http://127.0.0.1", "http://127.255.3.4:80", "http://[::1]:9", "http://[0:0:0:0:0:0:0:1]"] {
      #expect(try HTTPURL(text).origin.isLoopbackAddress, "\(text)")
    }
    for text in ["http://localhost", "http://127.0.0.1.example", "http://128.0.0.1", "http://[::ffff:127.0.0.1]"] {
      #expect(try !HTTPURL(text).origin.isLoopbackAddress, "\(text)")
    }
  }
}
