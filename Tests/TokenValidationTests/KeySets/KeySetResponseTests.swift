import AuthEngine
import EngineTestSupport
import HTTPMessages
import JOSE
import PosternSupport
import PosternTestSupport
import Testing

@Suite("What counts as a key set's answer")
struct KeySetResponseTests {
  struct Rejection: Sendable, CustomTestStringConvertible {
    let testDescription: String
    let response: HTTPResponse
    let kind: KeySetError.Kind
    let isRetryable: Bool
  }

  private static func typed(_ type: String?, _ body: String = #"{"keys":[]}"#) -> HTTPResponse {
    var response = HTTPResponse.json(body)
    response.fields["Content-Type"] = type
    return response
  }

  private static func manyKeys(_ count: Int) -> HTTPResponse { .keys(Array(repeating: .first, count: count)) }

  static let rejections: [Rejection] =
    [301, 302, 303, 307, 308].map { status in
      Rejection(
        testDescription: "redirect \(status)", response: .status(status, ("Location", "https://idp.test/other")),
        kind: .fetchFailed, isRetryable: false)
    }
    + [(304, false), (401, false), (404, false), (429, true)]
    .map { status, isRetryable in
      Rejection(
        testDescription: "status \(status)", response: .json(#"{"keys":[]}"#, status: status), kind: .fetchFailed,
        isRetryable: isRetryable)
    }
    + [
      Rejection(testDescription: "503", response: .status(503), kind: .fetchFailed, isRetryable: true),
      Rejection(testDescription: "no body", response: .json("", status: 204), kind: .invalid, isRetryable: false),
      Rejection(
        testDescription: "a page", response: .status(200, ("Content-Type", "text/html")), kind: .fetchFailed,
        isRetryable: false),
      Rejection(testDescription: "not JSON", response: .json("<html>"), kind: .invalid, isRetryable: false),
      Rejection(testDescription: "array", response: .json("[]"), kind: .invalid, isRetryable: false),
      Rejection(testDescription: "no keys", response: .json("{}"), kind: .invalid, isRetryable: false),
      Rejection(
        testDescription: "keys twice", response: .json(#"{"keys":[],"keys":[]}"#), kind: .invalid, isRetryable: false),
      Rejection(
        testDescription: "half a set", response: .json(#"{"keys":[{"kty":"#), kind: .invalid, isRetryable: false),
      Rejection(testDescription: "101 keys", response: manyKeys(101), kind: .invalid, isRetryable: false),
      Rejection(
        testDescription: "too large", response: .json(#"{"keys":[]}"# + String(repeating: " ", count: 256 << 10)),
        kind: .fetchFailed, isRetryable: false),
      Rejection(
        testDescription: "deep",
        response: .json(#"{"keys":\#(String(repeating: "[", count: 60))\#(String(repeating: "]", count: 60))}"#),
        kind: .invalid, isRetryable: false),
    ]

  @Test("an answer that is no set is rejected, by its own name", arguments: rejections)
  func rejected(_ rejection: Rejection) async throws {
    let server = KeyServer()
    server.answer(rejection.response)
    let error = await (try server.source()).failure()
    #expect(
      error?.kind == rejection.kind && error?.isRetryable == rejection.isRetryable, "\(String(describing: error))")
    #expect(error?.status == rejection.response.status)
    #expect(server.requests.map(\.url.path) == ["/jwks"], "a redirect is not followed")
  }

  @Test(
    "a set is one whatever its media type says",
    arguments: ["application/json", "application/jwk-set+json", "text/plain", "text/html", "json", nil])
  func types(type: String?) async throws {
    let server = KeyServer()
    server.answer(Self.typed(type, #"{"keys":[\#(PublishedKey.first.text)]}"#))
    #expect(try await server.source().keyIDs() == ["first"])
  }

  @Test("a hundred keys are accepted, so the cap is no tighter than documented")
  func manyKeys() async throws {
    let server = KeyServer()
    server.answer(Self.manyKeys(100))
    #expect(try await server.source().keyIDs().count == 100)
  }

  @Test("the request is bounded in time and size, accepts a set and has the issuer's trust")
  func request() async throws {
    let server = KeyServer()
    let url = try HTTPURL("https://idp.test/jwks")
    _ = try await server.store.source(at: url, access: ServerAccess(tls: TLSSettings(caFile: "/ca.pem"))).keySet(
      in: CallScope())
    let options = try #require(server.options.withLock { $0.first })
    #expect(options.deadline == Deadline(in: .seconds(5), on: server.clock))
    #expect(
      options.maxBodyBytes == 256 << 10 && options.access.tls.caFile == "/ca.pem" && !options.access.plainHTTP.allowsAny
    )
    let request = try #require(server.requests.first)
    #expect(request.method == "GET" && request.body == nil)
    #expect(request.fields["Accept"] == "application/jwk-set+json, application/json")
    #expect(request.fields["User-Agent"] == "postern/test" && request.fields["If-None-Match"] == nil)
  }

  @Test(
    "http is rejected before anything is sent, except on a loopback address with the switch",
    arguments: [
      ("http://idp.test/jwks", true, false), ("http://127.0.0.1:9/jwks", false, false),
      ("http://localhost:9/jwks", true, false), ("http://127.0.0.1:9/jwks", true, true),
    ])
  func secure(url: String, allowed: Bool, isSent: Bool) async throws {
    let server = KeyServer()
    let source = server.store.source(
      at: try HTTPURL(url), access: ServerAccess(plainHTTP: PlainHTTPRule(allowsLoopback: allowed)))
    #expect(await source.failure()?.kind == (isSent ? nil : .fetchFailed))
    #expect(server.requests.count == (isSent ? 1 : 0))
    #expect(server.options.withLock { $0.first?.access.plainHTTP.allowsAny } == (isSent ? true : nil))
  }

  @Test(
    "a transport's fault is a failed fetch, retryable when it lies in the network",
    arguments: [
      (TransportError.Code.serverUnreachable, true), (.networkUnreachable, true), (.timedOut, true),
      (.tlsFailure, false), (.pinMismatch, false), (.responseTooLarge, false), (.cancelled, false),
    ])
  func transport(code: TransportError.Code, isRetryable: Bool) async throws {
    let server = KeyServer()
    server.state.withLock { $0.transportFailure = code }
    let error = await (try server.source()).failure()
    #expect(error?.kind == .fetchFailed && error?.isRetryable == isRetryable && error?.status == nil)
  }

  static let entries: [String] = [
    #"{"kty":"AKP","alg":"ML-DSA-44","pub":"AAAA"}"#, #"{"kty":"EC","crv":"P-999","x":"AA","y":"AA"}"#,
    #"{"kty":"EC","crv":"P-256","x":"AAAA","y":"AAAA"}"#, #"{"kty":1}"#, "{}", "7", "null", #""x""#,
    #"{"kty":"oct","k":"AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA"}"#,
    #"{"kty":"OKP","crv":"Ed25519","d":"nWGxne_9WmC6hEr0kuwsxERJxWl7MmkZcDusAxyuf2A","#
      + #""x":"11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo"}"#,
  ]

  @Test("one unusable, private or symmetric entry never costs the others", arguments: entries)
  func unusableEntry(text: String) async throws {
    let server = KeyServer()
    server.answer(.keys([PublishedKey(text: text), .second]))
    let set = try await server.source().keySet(in: CallScope())
    #expect(set.keyIDs == ["second"] && set.keys.rejected.count == 1)
  }

  @Test("an empty set is a set: an issuer may withdraw its keys")
  func empty() async throws {
    let server = KeyServer()
    let source = try server.source()
    _ = try await source.keySet(in: CallScope())
    server.answer(.keys([]))
    server.clock.advance(by: .seconds(300))
    #expect(try await source.keyIDs().isEmpty)
    #expect(server.log.rotations.map(\.removed) == [[PublishedKey.firstThumbprint]])
  }
}
