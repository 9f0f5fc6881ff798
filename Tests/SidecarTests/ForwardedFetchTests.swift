import AuthEngine
import HTTPMessages
import PosternJSON
import PosternJSONRPC
import PosternObservability
import PosternProtocol
import PosternSupport
import PosternTestSupport
import Sidecar
import Testing

/// A program whose request is forwarded, and what it gets.
private final class Program: ForwardingProgram {
  struct Received {
    var head: HTTPResponseHead?
    var body: [UInt8] = []
    /// How often its request was read.
    var reads = 0
  }

  let received = Locked(Received())
  private let given: ForwardedFetch.Content

  init(_ content: ForwardedFetch.Content = ForwardedFetch.Content(fields: [:])) { given = content }

  var bodyBytes: Int64? { given.supply == nil ? Int64(given.body?.count ?? 0) : nil }

  func fields(for server: ResourceServer) -> HTTPFields {
    received.withLock { $0.reads += 1 }
    return given.fields
  }

  func content(for server: ResourceServer) async throws(RPCFault) -> ForwardedFetch.Content {
    received.withLock { $0.reads += 1 }
    return given
  }

  func take(_ response: ResourceResponse, from server: ResourceServer) {
    guard !response.isStreamed else { return }
    received.withLock { received in
      received.head = HTTPResponseHead(
        status: response.status, reason: response.reason, url: response.url, fields: response.fields)
      received.body = response.body
    }
  }

  func begin(_ head: HTTPResponseHead, from server: ResourceServer) async -> Bool {
    received.withLock { $0.head = head }
    return true
  }

  func deliver(_ piece: [UInt8]) async -> Bool {
    received.withLock { $0.body += piece }
    return true
  }
}

@Suite("A program that speaks HTTP is a caller of fetchResource like any other")
struct ForwardedFetchTests {
  private static let yaml = """
    issuers: { am: { issuer: "https://idp.test", clientId: shop, clientSecret: s, redirectUri: "https://shop.test/cb",
      endpoints: { token: "https://idp.test/token" }, accessManager: { baseUrl: "https://am.test/am", realm: alpha, cookieName: c } } }
    resources:
      api: { baseUrl: "https://api.test/shop/", issuer: am, auth: user, advice: { wait: 60s } }
      open: { baseUrl: "https://open.test/", auth: none, timeout: 20s }
    peers:
      - { uid: \(SidecarBench.ownUID), methods: ["*"] }
      - { uid: 7777, methods: ["*"] }
      - { uid: 8888, methods: [health] }
      - { uid: 9999, methods: ["*"], resources: [api], rate: { perSecond: 1, burst: 1 }, concurrency: 1 }
    """

  private let isOpen = Locked(true)
  private let bench: SidecarBench

  init() throws {
    bench = try SidecarBench(Self.yaml) { [isOpen] request, _ async throws(TransportError) in
      guard isOpen.withLock({ $0 }) || request.url.origin.host != "api.test" else {
        return HTTPResponse(
          status: 403, body: Array(#"{"advices":{"AuthenticateToServiceConditionAdvice":["Confirm"]}}"#.utf8))
      }
      return HTTPResponse(
        status: request.method == "GET" ? 302 : 200, fields: ["Location": "https://open.test/b"],
        body: request.body ?? [])
    }
  }

  private func fetch(
    _ fetch: ForwardedFetch, for program: Program = Program(), uid: UInt32 = SidecarBench.ownUID
  ) async -> Result<Void, RPCFault> {
    var fetch = fetch
    fetch.bodyBytes = program.bodyBytes
    return await bench.service.begin(
      fetch, for: program, by: bench.service.forwardingConnection(1, of: Peer(uid: uid, gid: 0))
    ).outcome().map { _ in }
  }

  private func fault(
    _ call: ForwardedFetch, for program: Program = Program(), uid: UInt32 = SidecarBench.ownUID
  ) async -> RPCFault? {
    guard case .failure(let fault) = await fetch(call, for: program, uid: uid) else { return nil }
    return fault
  }

  private func logIn() async throws -> String {
    let grant: JSONValue = ["type": "tokens", "accessToken": "secret-token", "expiresIn": 3600]
    let answer = await bench.connect().call("createSession", ["issuer": "am", "grant": grant])
    return try #require(answer["result"]?["session"]?.stringValue)
  }

  /// Catches a request that changes on its way, a redirect that is followed, and methods that only HTTP has.
  @Test("A request or its response is not passed on as it is", arguments: ["GET", "POST", "OPTIONS", "PROPFIND"])
  func passedOn(method: String) async throws {
    var fields: HTTPFields = ["X-Own": "1", "If-None-Match": "\"a\""]
    let program = Program(ForwardedFetch.Content(fields: fields, body: method == "GET" ? nil : [1, 2]))
    var call = ForwardedFetch(resource: "open", path: "/a%2Fb?x=%20&y", method: method)
    call.traceparent = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-00"
    #expect(await fault(call, for: program) == nil)
    let sent = try #require(bench.transport.requests.first)
    #expect(bench.transport.requests.count == 1)
    #expect(sent.method == method)
    #expect("\(sent.url)" == "https://open.test/a%2Fb?x=%20&y")
    #expect(sent.body == (method == "GET" ? nil : [1, 2]))
    #expect(sent.fields["traceparent"]?.contains("0af7651916cd43dd8448eb211c80319c") == true)
    fields["traceparent"] = sent.fields["traceparent"]
    for line in fields.lines { #expect(sent.fields[line.name] == line.value) }
    let received = program.received.withLock { $0 }
    #expect(received.head?.status == (method == "GET" ? 302 : 200))
    #expect(received.head?.fields["Location"] == "https://open.test/b")
    #expect(received.body == (method == "GET" ? [] : [1, 2]))
  }

  /// Catches an approval that a program uses for another user's token than that of the request which was shown.
  @Test("An answer `always` is good for other inbound tokens")
  func approvals() async throws {
    let sockets = bench.use(ScriptedSockets())
    let maker = bench.connect()
    let id = await maker.askingEndpoint(["http": true])
    let narrowing = try #require(sockets.request(id)?.narrowing)
    let (service, peer) = (bench.service, Peer(uid: SidecarBench.ownUID, gid: 0))
    func begin(_ token: String?) -> Task<Bool, Never> {
      var call = ForwardedFetch(resource: "open", path: "/a", method: "POST")
      call.onBehalfOf = token.map { Secret($0) }
      return Task { [call] in
        let caller = service.forwardingConnection(1, of: peer, narrowing)
        guard case .success = await service.begin(call, for: Program(), by: caller).outcome() else { return false }
        return true
      }
    }
    for token in [nil, "token-1", "token-2"] {
      let first = begin(token)
      let question = await maker.next()
      #expect(question?["params"]?["path"] == "a")
      #expect(question.map { JSONWriter().string($0).contains("token-") } == false)
      maker.answer(question, "always")
      _ = await first.value
      // The same again needs no answer.
      _ = await begin(token).value
    }
  }

  /// Catches a question that shows less than the request that is sent, or another one.
  @Test("A program's request is put to the maker as the program spells it")
  func shown() async throws {
    let sockets = bench.use(ScriptedSockets())
    let maker = bench.connect()
    let narrowing = try #require(sockets.request(await maker.askingEndpoint(["http": true]))?.narrowing)
    var call = ForwardedFetch(resource: "open", path: "/a%2Db?x=%7E", method: "COPY")
    call.gatewayURL = try HTTPURL("http://gw/open")
    call.shownFields = [
      "Destination": "http://gw/open/c", "If": "<http://gw/open/c> (<urn:uuid:1>)", "content-type": "text/plain",
    ]
    call.bodyBytes = nil
    let program = Program(ForwardedFetch.Content(fields: call.shownFields, body: [1]))
    let caller = bench.service.forwardingConnection(1, of: Peer(uid: SidecarBench.ownUID, gid: 0), narrowing)
    let outcome = Task { [call, service = bench.service] in
      await service.begin(call, for: program, by: caller).outcome()
    }
    let question = await maker.next()
    #expect(
      question?["params"]?["otherUrls"] == [
        ["header": "Destination", "url": "https://open.test/c"], ["header": "If", "url": "https://open.test/c"],
      ])
    #expect(question?["params"]?["httpMethod"] == "COPY" && question?["params"]?["url"] == "https://open.test/a-b?x=~")
    #expect(question?["params"]?["body"] == ["contentType": "text/plain"], "a body of unknown length")
    maker.answer(question, "once")
    _ = await outcome.value
    let sent = try #require(bench.transport.requests.first)
    #expect(sent.method == "COPY" && "\(sent.url)" == "https://open.test/a-b?x=~")
    #expect(sent.fields["Destination"] == "https://open.test/c")
    #expect(sent.fields["If"] == "<https://open.test/c> (<urn:uuid:1>)")
  }

  /// Catches consent to a request that counts for one with another second URL.
  @Test("A continuation carries out a request that names another resource")
  func continuationOfSecondURL() async throws {
    let handle = try await logIn()
    isOpen.withLock { $0 = false }
    func program(_ target: String) -> Program { Program(ForwardedFetch.Content(fields: ["Destination": target])) }
    var call = ForwardedFetch(resource: "api", path: "/a", method: "MOVE")
    call.session = handle
    let advice = try #require(await fault(call, for: program("/shop/b")))
    call.continuation = try #require(advice.data["continuation"]?.stringValue)
    isOpen.withLock { $0 = true }
    #expect(await fault(call, for: program("/shop/c"))?.code == .invalidParams)
    #expect(await fault(call, for: program("/shop/b")) == nil)
    #expect(bench.transport.requests.last?.fields["Destination"] == "/shop/b")
  }

  static let rejected: [(uid: UInt32, ForwardedFetch, ErrorCode, reads: Int)] = [
    (5555, ForwardedFetch(resource: "open", path: "/", method: "GET"), .peerForbidden, 0),
    (8888, ForwardedFetch(resource: "open", path: "/", method: "GET"), .peerForbidden, 0),
    (9999, ForwardedFetch(resource: "open", path: "/", method: "GET"), .invalidParams, 0),
    (7777, ForwardedFetch(resource: "nothing", path: "/", method: "GET"), .invalidParams, 0),
    (7777, ForwardedFetch(resource: "api", path: "/", method: "GET"), .notAuthenticated, 0),
    (7777, ForwardedFetch(resource: "open", path: "//evil.test/x", method: "GET"), .invalidURL, 1),
    (7777, ForwardedFetch(resource: "open", path: "/..%2fx", method: "GET"), .invalidURL, 1),
    (7777, ForwardedFetch(resource: "open", path: "/%5cx", method: "GET"), .invalidURL, 1),
    (7777, ForwardedFetch(resource: "open", path: "/", method: "TRACE"), .methodNotAllowed, 1),
    (7777, ForwardedFetch(resource: "open", path: "/", method: "connect"), .methodNotAllowed, 1),
    (7777, ForwardedFetch(resource: "open", path: "/", method: "A B"), .methodNotAllowed, 1),
  ]

  /// Catches a rule that messages obey and programs do not, and a body that is read for nothing.
  @Test("A program does what no caller may", arguments: rejected)
  func isRejected(uid: UInt32, call: ForwardedFetch, code: ErrorCode, reads: Int) async {
    let program = Program()
    #expect(await fault(call, for: program, uid: uid)?.code == code)
    #expect(bench.transport.requests.isEmpty)
    #expect(program.received.withLock { $0.reads } == reads)
    #expect(program.received.withLock { $0.head == nil })
  }

  /// Catches requests that no limit counts.
  @Test("A program calls more often than its rule permits")
  func rate() async throws {
    _ = try await logIn()
    let call = ForwardedFetch(resource: "api", path: "/", method: "GET")
    #expect(await fault(call, uid: 9999)?.code == .notAuthenticated)
    let fault = await fault(call, uid: 9999)
    #expect(fault?.code == .overloaded)
    #expect(fault?.data["retryAfterMs"] != nil)
  }

  /// Catches another user's session that is used, and one's own that is not.
  @Test("A request is sent with another session than the program means")
  func sessions() async throws {
    let handle = try await logIn()
    var call = ForwardedFetch(resource: "api", path: "/x", method: "POST")
    #expect(await fault(call)?.code == .notAuthenticated, "none is chosen for it")
    call.session = "only"
    #expect(await fault(call) == nil)
    call.session = handle
    #expect(await fault(call) == nil)
    #expect(await fault(call, uid: 7777)?.code == .sessionNotFound)
    call.session = "made-up"
    #expect(await fault(call)?.code == .sessionNotFound)
    call = ForwardedFetch(resource: "open", path: "/x", method: "POST")
    call.session = handle
    #expect(await fault(call)?.code == .invalidParams)
    #expect(
      bench.transport.requests.map { $0.fields["Authorization"] } == ["Bearer secret-token", "Bearer secret-token"])
  }

  /// Catches consent to one request that counts for another one, another session's or another user's.
  @Test("A continuation carries out another request than the one that was suspended")
  func continuation() async throws {
    let handle = try await logIn()
    let other = try await logIn()
    isOpen.withLock { $0 = false }
    let program = Program(ForwardedFetch.Content(fields: [:], body: [7]))
    var call = ForwardedFetch(resource: "api", path: "/pay?n=1", method: "POST")
    call.session = handle
    let advice = try #require(await fault(call, for: program))
    #expect(advice.code == .adviceRequired)
    call.continuation = try #require(advice.data["continuation"]?.stringValue)
    isOpen.withLock { $0 = true }
    let count = bench.transport.requests.count
    func changed(_ change: (inout ForwardedFetch) -> Void) -> ForwardedFetch {
      var changed = call
      change(&changed)
      return changed
    }
    #expect(await fault(call, for: program, uid: 7777)?.code == .continuationUnknown)
    #expect(await fault(changed { $0.continuation = "made-up" }, for: program)?.code == .continuationUnknown)
    #expect(await fault(changed { $0.path = "/pay?n=2" }, for: program)?.code == .invalidParams)
    #expect(await fault(changed { $0.method = "PUT" }, for: program)?.code == .invalidParams)
    #expect(await fault(changed { $0.session = other }, for: program)?.code == .invalidParams)
    #expect(await fault(changed { $0.onBehalfOf = Secret("t") }, for: program)?.code == .invalidParams)
    #expect(await fault(changed { $0.resource = "open" }, for: program)?.code == .invalidParams)
    #expect(
      await fault(call, for: Program(ForwardedFetch.Content(fields: [:], body: [8])))?.code == .invalidParams)
    #expect(bench.transport.requests.count == count)
    #expect(await fault(call, for: program) == nil)
    #expect(program.received.withLock { $0.body } == [7])
    #expect(await fault(call, for: program)?.code == .continuationUnknown, "only once")
  }

  /// Catches a continuation that loses the body of a request that was sent while it was read, and one for which another
  /// body counts.
  @Test("A request whose streamed body is kept is not suspended, or continues with another body")
  func keptBody() async throws {
    let handle = try await logIn()
    isOpen.withLock { $0 = false }
    func program(_ body: [UInt8]?) -> Program {
      let supply = BodySupply(length: nil, next: { .bytes([]) }, rewind: { body != nil })
      var content = ForwardedFetch.Content(fields: [:], supply: supply)
      content.whole = { body }
      return Program(content)
    }
    var call = ForwardedFetch(resource: "api", path: "/pay", method: "POST")
    call.session = handle
    let advice = try #require(await fault(call, for: program([7, 8])))
    call.continuation = try #require(advice.data["continuation"]?.stringValue)
    isOpen.withLock { $0 = true }
    for other in [[7], nil] as [[UInt8]?] {
      #expect(await fault(call, for: program(other))?.code == .invalidParams)
    }
    let sent = bench.transport.requests.count
    #expect(await fault(call, for: program([7, 8])) == nil)
    #expect(bench.transport.requests.dropFirst(sent).map(\.body) == [[7, 8]])
  }

  /// Catches a body that was read once and is promised for another time.
  @Test("A request whose body is streamed is suspended")
  func streamedBody() async throws {
    var call = ForwardedFetch(resource: "api", path: "/pay", method: "POST")
    call.session = try await logIn()
    isOpen.withLock { $0 = false }
    let supply = BodySupply(length: nil) { .bytes([]) }
    let program = Program(ForwardedFetch.Content(fields: [:], supply: supply))
    #expect(await fault(call, for: program) == nil)
    #expect(program.received.withLock { $0.head?.status } == 403, "the response with the advice is the program's")
  }

  /// Catches an upload that ends with the resource's timeout although it moves, and a request that has no limit.
  @Test("The time of a request is not bounded as its body requires", arguments: [true, false])
  func deadlines(streams: Bool) async throws {
    let supply = streams ? BodySupply(length: nil) { .bytes([]) } : nil
    let program = Program(ForwardedFetch.Content(fields: [:], supply: supply))
    #expect(await fault(ForwardedFetch(resource: "open", path: "/", method: "PUT"), for: program) == nil)
    let options = try #require(bench.transport.options.first)
    #expect((options.deadline.instant == nil) == streams)
    #expect(options.streaming?.silence == .seconds(300))
  }

  /// Catches requests that are accepted by a process that is stopping.
  @Test("A request is begun after the drain has")
  func drain() async {
    bench.service.drain()
    #expect(
      await fault(ForwardedFetch(resource: "open", path: "/", method: "GET"))?.code == .shuttingDown)
    #expect(bench.transport.requests.isEmpty)
  }

  /// Catches fetches that metrics and the log of errors leave out.
  @Test("A program's requests are not counted, or not logged")
  func records() async throws {
    _ = await fetch(ForwardedFetch(resource: "open", path: "/", method: "POST"))
    let fault = await fault(ForwardedFetch(resource: "nothing", path: "/", method: "GET"))
    let text = bench.service.metricsText
    #expect(text.contains(#"method="fetchResource""#))
    let line = try #require(bench.lines.withLock { $0 }.first { $0.contains("invalid_params") })
    let traceID = try #require(fault?.data["traceId"]?.stringValue)
    #expect(line.contains(traceID))
  }
}
