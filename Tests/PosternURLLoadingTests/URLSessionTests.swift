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

/// A real `URLSession` whose requests go through the engine. One at a time: the settings of the protocol class apply to
/// the whole process.
@Suite("URL sessions over the engine", .serialized, .timeLimit(.minutes(2)))
struct URLSessionTests {
  @Test(
    "a request that knows nothing of tokens carries one, with its method, query, fields and body; the answer is native")
  func plain() async throws {
    let bench = try await LoadingBench { _ in
      LoadingBench.reply(201, "made", ("Content-Type", "text/plain"), ("X-Two", "a"), ("x-two", "b"))
    }
    var request = LoadingBench.request("/orders?limit=1&q=%2F", method: "POST")
    request.httpBody = Data("{}".utf8)
    request.setValue("application/json", forHTTPHeaderField: "Content-Type")
    let (body, head) = try await bench.outcome(request).get()
    #expect(head.statusCode == 201 && body == Data("made".utf8) && head.url == request.url)
    #expect(head.value(forHTTPHeaderField: "x-TWO") == "a, b")
    let sent = try #require(bench.transport.requests.first)
    #expect(sent.method == "POST" && sent.url.query == "limit=1&q=%2F" && sent.body == Array("{}".utf8))
    #expect(sent.fields["Authorization"] == "Bearer user-token" && sent.fields["Content-Type"] == "application/json")
  }

  @Test("a body from a stream arrives whole")
  func stream() async throws {
    let bench = try await LoadingBench { _ in LoadingBench.reply(204) }
    var request = LoadingBench.request("/upload", method: "PUT")
    let body = Data((0..<300_000).map { UInt8(truncatingIfNeeded: $0) })
    request.httpBodyStream = InputStream(data: body)
    _ = try await bench.outcome(request).get()
    #expect(bench.transport.requests.first?.body.map { Data($0) } == body)
  }

  @Test("an upload task's own body, which no protocol sees, is rejected, not left out")
  func upload() async throws {
    let bench = try await LoadingBench { _ in LoadingBench.reply(204) }
    let error: (any Error)? = await withCheckedContinuation { continuation in
      bench.session.uploadTask(with: LoadingBench.request("/x", method: "PUT"), from: Data("lost".utf8)) {
        _, _, error in
        continuation.resume(returning: error)
      }.resume()
    }
    let isWhole = bench.transport.requests.first?.body == Array("lost".utf8)
    #expect(isWhole != ((error as? URLError)?.code == .requestBodyStreamExhausted))
    #expect(bench.transport.requests.count == (isWhole ? 1 : 0))
  }

  @Test("without a login nothing is sent, and the error has the reason")
  func loggedOut() async throws {
    let bench = try await LoadingBench(isLoggedIn: false) { _ in LoadingBench.reply(200) }
    guard case .failure(let error) = await bench.outcome(LoadingBench.request("/x")) else {
      Issue.record("a request without a token went out")
      return
    }
    #expect(error.code == .userAuthenticationRequired && error.resourceError?.code == .notAuthenticated)
    #expect(bench.transport.requests.isEmpty)
  }

  @Test(
    "only the resource's own URLs go through the engine: look-alikes go their usual way, without a token",
    arguments: [
      "https://api.example.com.evil.invalid/base/x", "https://api.example.com/based",
      "https://api.example.com:8443/base/x",
      "http://api.example.com/base/x", "https://api.example.com/base/%2e%2e/x", "https://other.invalid/base/x",
    ])
  func coverage(_ url: String) async throws {
    _ = try await LoadingBench { _ in LoadingBench.reply(200) }
    #expect(!PosternURLProtocol.canInit(with: LoadingBench.request(url)))
    #expect(PosternURLProtocol.canInit(with: LoadingBench.request("/x?y")))
  }

  @Test(
    "a URL that others would send to the resource's host, or read as another of its paths, fails and is not sent bare",
    arguments: [
      "https://user@api.example.com/base/x", "https://api.example.com./base/x", "https://api.example.com/base/a%5cb",
    ])
  func notBare(_ url: String) async throws {
    let bench = try await LoadingBench { _ in LoadingBench.reply(200) }
    #expect(PosternURLProtocol.canInit(with: LoadingBench.request(url)))
    let error = await #expect(throws: URLError.self) { try await bench.outcome(LoadingBench.request(url)).get() }
    #expect(error?.resourceError != nil && bench.transport.requests.isEmpty)
  }

  @Test("a token policy names the URLs that carry tokens; what only the authorization policy names carries none")
  func policies() async throws {
    let bench = try await LoadingBench { _ in LoadingBench.reply(200) }
    let (tokens, advice) = (try HTTPURL(LoadingBench.base + "/a"), try HTTPURL(LoadingBench.base + "/b"))
    PosternURLProtocol.tokenManagementPolicy = TokenManagementPolicy(validatingURL: [
      tokens, try HTTPURL("https://evil.invalid/"),
    ])
    PosternURLProtocol.authorizationPolicy = AuthorizationPolicy(validatingURL: [advice])
    for path in ["/a", "/b"] { _ = try await bench.outcome(LoadingBench.request(path)).get() }
    #expect(bench.transport.requests.map { $0.fields["Authorization"] } == ["Bearer user-token", nil])
    #expect(!PosternURLProtocol.canInit(with: LoadingBench.request("/c")))
    // It would go out without the token that the policy has for it.
    guard case .failure(let error) = await bench.outcome(LoadingBench.request("https://evil.invalid/")) else {
      Issue.record("a policy's request went out, though no resource has its URL")
      return
    }
    #expect(error.resourceError?.detail.contains("https://evil.invalid/: no member") == true)
  }

  struct Delegate: AuthorizationPolicyDelegate, TokenManagementPolicyDelegate {
    let satisfied: Bool
    let requested = Locked<[PolicyAdvice]>([])

    func onPolicyAdviceReceived(
      _ advices: [PolicyAdvice], session: SessionHandle?, continuation: String?
    ) async -> Bool? {
      requested.withLock { $0 += advices }
      return satisfied
    }

    func evaluateTokenRefresh(_ response: HTTPResponse) async -> Bool? { false }
  }

  @Test(
    "steps 1 to 5: advice is satisfied by the delegate and the request retried; else the answer is the one with the advice",
    arguments: [true, false])
  func advice(_ isSatisfied: Bool) async throws {
    let bench = try await LoadingBench { request in
      guard request.url.query?.contains("_txid=tx-1") != true else { return LoadingBench.reply(200, "paid") }
      let advices = Data(#"{"TransactionConditionAdvice":["tx-1"]}"#.utf8).base64EncodedString()
      return LoadingBench.reply(
        401, "no",
        ("WWW-Authenticate", #"SSOADVICE realm="/",advices="\#(advices)",am_uri="https://am.example.com/am/""#))
    }
    let delegate = Delegate(satisfied: isSatisfied)
    PosternURLProtocol.tokenManagementPolicy = TokenManagementPolicy(
      validatingURL: [try HTTPURL(LoadingBench.policyURL)], delegate: delegate)
    PosternURLProtocol.authorizationPolicy = AuthorizationPolicy(
      validatingURL: [try HTTPURL(LoadingBench.policyURL)], delegate: delegate)
    let (body, head) = try await bench.outcome(LoadingBench.request("/pay?to=bob", method: "POST")).get()
    #expect(delegate.requested.withLock { $0.map(\.txId) } == ["tx-1"])
    #expect(head.statusCode == (isSatisfied ? 200 : 401) && body == Data((isSatisfied ? "paid" : "no").utf8))
    #expect(bench.transport.requests.last?.url.query == (isSatisfied ? "to=bob&_txid=tx-1" : "to=bob"))
  }

  @Test("a cancelled task ends its fetch, and gets one error")
  func cancellation() async throws {
    let (came, left) = (Gate(), Gate())
    let bench = try await LoadingBench { _ throws(TransportError) in
      came.open()
      try? await Task.sleep(for: .seconds(60))
      left.open()
      return LoadingBench.reply(200)
    }
    let ends = Locked<[URLError.Code?]>([])
    let task = bench.session.dataTask(with: LoadingBench.request("/slow")) { _, _, error in
      ends.withLock { $0.append((error as? URLError)?.code) }
    }
    task.resume()
    await came.pass()
    task.cancel()
    await left.pass()
    #expect(await eventually { ends.withLock { !$0.isEmpty } })
    #expect(ends.withLock { $0 } == [.cancelled])
  }

  @Test("a rejection by the engine is an error with its reason as the cause")
  func errors() async throws {
    let bench = try await LoadingBench { _ throws(TransportError) in
      throw TransportError(code: .serverUnreachable, outcome: .notSent, detail: "refused")
    }
    var reserved = LoadingBench.request("/x")
    reserved.setValue("Bearer of-the-caller", forHTTPHeaderField: "Authorization")
    let cases: [(URLRequest, URLError.Code, ErrorCode)] = [
      (LoadingBench.request("/x"), .cannotConnectToHost, .serverUnreachable),
      (LoadingBench.request("/x", method: "TRACK"), .unknown, .methodNotAllowed),
      (reserved, .unknown, .invalidHeaders),
    ]
    for (request, code, reason) in cases {
      guard case .failure(let error) = await bench.outcome(request) else {
        Issue.record("\(reason.reason) was no error")
        continue
      }
      #expect(error.code == code && error.resourceError?.code == reason)
    }
    #expect(bench.transport.requests.count == 1)
  }
}
