import AuthEngine
import Foundation
import HTTPMessages
import PosternSupport
import PosternTestSupport
import PosternURLLoading
import Testing

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

/// Foundation's URLs and responses from the engine's, and back.
@Suite struct FoundationValueTests {
  /// Every kind of URL that the engine accepts, the longest included.
  private static let accepted = [
    "https://api.test", "http://127.0.0.1:65535/", "https://[2001:db8::1]:8443/a?b", "https://a_b-c.test/%2F%FF/;x=1,y",
    "https://xn--bcher-kva.test/a//b?a=[1]&b={", "https://api.test/?",
    "https://api.test/!$&'()*+,;=:@-._~?/?!$'()*+,;:@",
    "https://api.test/" + String(repeating: "a", count: HTTPURL.maxBytes - 17),
    "https://" + String(repeating: "a", count: 63) + ".test/",
  ]

  @Test("a URL of the engine is another one in Foundation, or there is none", arguments: accepted)
  func urls(_ text: String) throws {
    guard let url = try? HTTPURL(text) else { return }
    #expect(URL(url).absoluteString == url.description)
    #expect(try HTTPURL(URL(url)) == url)
  }

  @Test("a character that the engine accepts in a path or a query is rejected by Foundation, or changed")
  func characters() {
    var count = 0
    for byte in UInt8(0)...127 {
      for text in [
        "https://api.test/a\(Character(UnicodeScalar(byte)))b", "https://api.test/?a\(Character(UnicodeScalar(byte)))b",
      ] {
        guard let url = try? HTTPURL(text) else { continue }
        count += 1
        #expect(URL(url).absoluteString == url.description)
      }
    }
    #expect(count > 150)
  }

  @Test("what Foundation accepts and the engine does not is accepted, or the error quotes it")
  func rejected() throws {
    for text in ["file:///etc/passwd", "https://user:secret@api.test/", "https://api.test./", "relative/secret"] {
      let url = try #require(URL(string: text))
      let error = #expect(throws: HTTPURLError.self) { try HTTPURL(url) }
      #expect(error.map { "\($0)".contains("secret") } == false)
    }
    #expect(try HTTPURL(#require(URL(string: "HTTPS://API.test#part"))) == HTTPURL("https://api.test/"))
  }

  @Test("a policy covers other URLs when they are Foundation's, or leaves out one that is none")
  func policies() throws {
    let url = try #require(URL(string: LoadingBench.policyURL))
    let inside = try HTTPURL(LoadingBench.base + "/x")
    #expect(try TokenManagementPolicy(validatingURL: [url]).covers(inside))
    #expect(try AuthorizationPolicy(validatingURL: [url]).covers(inside))
    #expect(!TokenManagementPolicy(validatingURL: []).covers(inside))
    let file = URL(fileURLWithPath: "/tmp")
    #expect(throws: HTTPURLError(.unsupportedScheme)) { try TokenManagementPolicy(validatingURL: [url, file]) }
    #expect(throws: HTTPURLError(.unsupportedScheme)) { try AuthorizationPolicy(validatingURL: [url, file]) }
  }

  private func response(_ answer: HTTPResponse) async throws -> ResourceResponse {
    let transport = ScriptedTransport { _, _ in answer }
    let fetcher = PosternEngine(transport: transport, userAgent: "test/1").fetcher
    let server = ResourceServer(name: "api", baseURL: try HTTPURL(LoadingBench.base), authentication: .none)
    return try await fetcher.fetch(ResourceRequest(path: "x?a=%2F"), from: server)
  }

  @Test(
    "a response has another status, URL, body or field in Foundation; a challenge is withheld outside of sessions, too")
  func response() async throws {
    let answer = LoadingBench.reply(
      401, "no", ("X-Two", "a"), ("x-two", "b"), ("WWW-Authenticate", #"Basic realm="x""#))
    let response = try await response(answer)
    let head = response.httpURLResponse
    #expect(head.statusCode == 401 && head.url?.absoluteString == LoadingBench.base + "/x?a=%2F")
    #expect(head.value(forHTTPHeaderField: "X-TWO") == "a, b")
    #expect(head.value(forHTTPHeaderField: "WWW-Authenticate") == #"Basic realm="x""#)
    #expect(response.data == Data("no".utf8))
  }

  @Test("Foundation has no response of an unusual status", arguments: [100, 200, 299, 599, 999])
  func status(_ status: Int) async throws {
    #expect(try await response(LoadingBench.reply(status)).httpURLResponse.statusCode == status)
  }
}
