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

/// What a session's configuration says about its requests and responses, as sessions without the engine have it.
extension URLSessionTests {
  private func tokenPolicy() throws -> TokenManagementPolicy {
    TokenManagementPolicy(validatingURL: [try HTTPURL(LoadingBench.policyURL)])
  }

  @Test(
    "behind a token policy a request with an Authorization of its own, or of the configuration, fails or keeps it",
    arguments: ["Authorization", "authorization", nil])
  func replaced(_ name: String?) async throws {
    let bench = try await LoadingBench(configure: {
      if name == nil { $0.httpAdditionalHeaders = ["Authorization": "Bearer old"] }
    }) { _ in LoadingBench.reply(200) }
    PosternURLProtocol.tokenManagementPolicy = try tokenPolicy()
    var request = LoadingBench.request("/x")
    if let name { request.setValue("Bearer old", forHTTPHeaderField: name) }
    _ = try await bench.outcome(request).get()
    #expect(bench.transport.requests.map { $0.fields.values(of: "Authorization") } == [["Bearer user-token"]])
  }

  @Test("where no token replaces it, an Authorization of the request's own is sent, or left out in silence")
  func notReplaced() async throws {
    let bench = try await LoadingBench(authentication: .none) { _ in LoadingBench.reply(200) }
    PosternURLProtocol.tokenManagementPolicy = try tokenPolicy()
    var request = LoadingBench.request("/x")
    request.setValue("Bearer old", forHTTPHeaderField: "Authorization")
    let outcome = await bench.outcome(request)
    let error = #expect(throws: URLError.self) { try outcome.get() }
    #expect(error?.resourceError?.code == .invalidHeaders && bench.transport.requests.isEmpty)
  }

  @Test("the configuration's additional fields are not sent, or override the request's own")
  func additionalFields() async throws {
    let bench = try await LoadingBench(configure: { $0.httpAdditionalHeaders = ["X-A": "session", "X-B": "session"] }) {
      _ in LoadingBench.reply(200)
    }
    var request = LoadingBench.request("/x")
    request.setValue("request", forHTTPHeaderField: "x-b")
    _ = try await bench.outcome(request).get()
    let fields = try #require(bench.transport.requests.first?.fields)
    #expect(fields.values(of: "X-A") == ["session"] && fields.values(of: "X-B") == ["request"])
  }

  /// How a session deals with cookies.
  struct CookieRow: Sendable, CustomTestStringConvertible {
    var testDescription: String
    var sets = true
    var accepts = HTTPCookie.AcceptPolicy.onlyFromMainDocumentDomain
    var handles = true
    var own: String?
    let sent: String?
  }

  private static let cookieRows = [
    CookieRow(testDescription: "as usual", sent: "one=1; two=2"),
    CookieRow(testDescription: "httpShouldSetCookies is off", sets: false, sent: nil),
    CookieRow(testDescription: "none are accepted", accepts: .never, sent: nil),
    CookieRow(testDescription: "httpShouldHandleCookies is off", handles: false, sent: nil),
    CookieRow(
      testDescription: "a request with cookies of its own: Foundation's replace them", own: "three=3",
      sent: "one=1; two=2"),
  ]

  @Test("a session's cookies are not kept, not sent, or sent where it is set not to", arguments: cookieRows)
  func cookies(_ row: CookieRow) async throws {
    let bench = try await LoadingBench(configure: {
      $0.httpShouldSetCookies = row.sets
      $0.httpCookieAcceptPolicy = row.accepts
    }) { _ in
      LoadingBench.reply(
        200, "", ("Set-Cookie", "one=1; Path=/; Expires=Fri, 01 Jan 2100 00:00:00 GMT"), ("Set-Cookie", "two=2; Path=/")
      )
    }
    var request = LoadingBench.request("/x")
    request.httpShouldHandleCookies = row.handles
    _ = try await bench.outcome(request).get()
    if let own = row.own { request.setValue(own, forHTTPHeaderField: "Cookie") }
    _ = try await bench.outcome(request).get()
    let sent = bench.transport.requests.map { $0.fields["Cookie"] }
    #expect(sent.first == .some(nil))
    #expect(sent.last??.split(separator: "; ").sorted() == row.sent?.split(separator: "; ").sorted())
  }

  @Test("the single sign-on cookie gets into the session's storage, and then every request with it fails")
  func reservedCookie() async throws {
    let bench = try await LoadingBench { _ in LoadingBench.reply(200, "", ("Set-Cookie", "sso=secret; Path=/")) }
    var server = bench.resource.server
    server.reservedCookies = ["sso"]
    PosternURLProtocol.resources = [
      ProtectedResource(server, fetcher: bench.resource.fetcher, options: bench.resource.options)
    ]
    for _ in 0..<2 { _ = try await bench.outcome(LoadingBench.request("/x")).get() }
    #expect(bench.transport.requests.map { $0.fields["Cookie"] } == [nil, nil])
    #expect(bench.session.configuration.httpCookieStorage?.cookies?.isEmpty == true)
  }

  @Test("a time limit of the configuration or of the request is not that of the transfer")
  func timeLimits() async throws {
    func limits(
      of request: URLRequest, _ configure: (URLSessionConfiguration) -> Void
    ) async throws -> (head: Duration, silence: Duration, whole: Duration?) {
      let recorder = TaskRecorder()
      let bench = try await LoadingBench(delegate: recorder, configure: configure) { _ in LoadingBench.reply(200) }
      _ = try await bench.outcome(request).get()
      let options = try #require(bench.transport.options.last)
      let streaming = try #require(options.streaming)
      return (
        try #require(options.deadline.remaining(on: SystemClock())), streaming.silence,
        streaming.deadline.remaining(on: SystemClock())
      )
    }
    var request = LoadingBench.request("/x")
    let byConfiguration = try await limits(of: request) {
      $0.timeoutIntervalForRequest = 200
      $0.timeoutIntervalForResource = 1_000
    }
    #expect(byConfiguration.silence == .seconds(200) && byConfiguration.head > .seconds(100))
    #expect(byConfiguration.head <= .seconds(200) && byConfiguration.whole.map { $0 <= .seconds(1_000) } == true)
    request.timeoutInterval = 100
    let byRequest = try await limits(of: request) { $0.timeoutIntervalForRequest = 200 }
    #expect(byRequest.silence == .seconds(100) && byRequest.head <= .seconds(100))
    #expect(byRequest.whole.map { $0 > .seconds(600_000) } == true)
  }

  // MARK: - Bodies

  private static let piece = [UInt8](repeating: 7, count: TransferControl.pieceBytes)

  private static func begin(_ control: TransferControl) {
    guard let url = try? HTTPURL(LoadingBench.base + "/x") else { return }
    _ = control.begins(HTTPResponseHead(status: 200, url: url))
  }

  @Test("a delegate gets a body when it is complete, or not all of it; more than `maxBodyBytes` is an error")
  func pieces() async throws {
    let (recorder, first) = (TaskRecorder(), Gate())
    let bench = try await LoadingBench(
      maxBodyBytes: 10, delegate: recorder,
      beforeAnswer: { control in
        Self.begin(control)
        control.give(Self.piece)
        await first.pass()
        control.give(Self.piece)
      }
    ) { _ in LoadingBench.reply(200, "end") }
    bench.session.dataTask(with: LoadingBench.request("/x")).resume()
    #expect(await eventually { recorder.data.count == Self.piece.count })
    #expect(recorder.ends.isEmpty)
    first.open()
    #expect(await eventually { !recorder.ends.isEmpty })
    #expect(recorder.ends.first?.status == 200 && recorder.ends.first?.error == nil)
    #expect(recorder.data == Data(Self.piece + Self.piece + Array("end".utf8)))
  }

  @Test("a completion handler, or who awaits the data, gets the last piece only", arguments: [true, false])
  func wholeBodies(isAwaited: Bool) async throws {
    let bench = try await LoadingBench(
      delegate: TaskRecorder(),
      beforeAnswer: { control in
        Self.begin(control)
        for _ in 0..<2 { control.give(Self.piece) }
      }
    ) { _ in LoadingBench.reply(200, "end") }
    let request = LoadingBench.request("/x")
    let body = isAwaited ? try await bench.session.data(for: request).0 : try await bench.outcome(request).get().body
    #expect(body == Data(Self.piece + Self.piece + Array("end".utf8)))
  }

  @Test("a stream of more than can be held is an error, or does not arrive whole")
  func longUpload() async throws {
    let received = Locked<[UInt8?]>([])
    let count = 17 << 20
    let bench = try await LoadingBench(beforeAnswer: { control in
      var (total, buffer) = (0, [UInt8](repeating: 0, count: 1 << 20))
      while true {
        switch buffer.withUnsafeMutableBytes({ control.takeUpload(into: $0) }) {
        case .bytes(0), .failed: return
        case .bytes(let size):
          total += size
          if total == count { received.withLock { $0.append(buffer[size - 1]) } }
        case .waiting: await Task.yield()
        }
      }
    }) { _ in LoadingBench.reply(204) }
    var request = LoadingBench.request("/x", method: "PUT")
    request.httpBodyStream = InputStream(data: Data(count: count - 1) + [9])
    _ = try await bench.outcome(request).get()
    #expect(received.withLock { $0 } == [9])
  }

  @Test("a response is passed on before the delegate that may find advice in it has judged it")
  func judged() async throws {
    let recorder = TaskRecorder()
    let bench = try await LoadingBench(delegate: recorder) { request in
      guard request.url.query != "_txid=tx-1" else { return LoadingBench.reply(200, "paid") }
      return LoadingBench.reply(200, "stop")
    }
    PosternURLProtocol.authorizationPolicy = AuthorizationPolicy(
      validatingURL: [try HTTPURL(LoadingBench.policyURL)], delegate: FindsAdvice())
    bench.session.dataTask(with: LoadingBench.request("/x")).resume()
    #expect(await eventually { !recorder.ends.isEmpty })
    #expect(recorder.data == Data("paid".utf8))
  }

  private struct FindsAdvice: AuthorizationPolicyDelegate {
    func evaluateAuthorizationPolicy(_ event: PolicyEvent) async -> [PolicyAdvice]? {
      guard event.response?.body == Array("stop".utf8) else { return nil }
      return [PolicyAdvice(type: "TransactionConditionAdvice", value: "tx-1")]
    }

    func onPolicyAdviseReceived(
      _ advices: [PolicyAdvice], session: SessionHandle?, continuation: String?
    ) async -> Bool? { true }
  }

  @Test("what a policy was made of cannot be read from it")
  func policyProperties() throws {
    let url = try HTTPURL(LoadingBench.base)
    let delegate = Delegate(satisfied: true)
    let tokens = TokenManagementPolicy(validatingURL: [url], delegate: delegate)
    let advice = AuthorizationPolicy(validatingURL: [url], delegate: delegate)
    #expect(tokens.validatingURL == [url] && advice.validatingURL == [url])
    #expect(tokens.delegate is Delegate && advice.delegate is Delegate)
    #expect(TokenManagementPolicy(validatingURL: [url]).delegate == nil)
  }
}
