import AuthEngine
import HTTPMessages
import LocalServer
import PosternJSON
import PosternJSONRPC
import PosternProtocol
import PosternSupport
import PosternTestSupport
import Sidecar
import Testing

@testable import SidecarGateway

/// A response that keeps what it is given.
private final class KeptResponse: GatewayResponse {
  struct Contents {
    var status: Int?
    var fields = HTTPFields()
    var length: Int64?
    var body: [UInt8] = []
    var hasEnded = false
    var isGone = false
  }

  let contents = Locked(Contents())

  func begin(status: Int, fields: HTTPFields, length: Int64?) async throws(GatewayClientGone) {
    try change { ($0.status, $0.fields, $0.length) = (status, fields, length) }
  }

  func write(_ bytes: [UInt8]) async throws(GatewayClientGone) { try change { $0.body += bytes } }

  func end() async throws(GatewayClientGone) { try change { $0.hasEnded = true } }

  func answer(
    status: Int, fields: HTTPFields, length: Int64?, body: [UInt8], whenTaken: @escaping @Sendable () -> Void
  ) {
    try? change { contents in
      (contents.status, contents.fields, contents.length) = (status, fields, length)
      contents.body += body
      contents.hasEnded = true
    }
    whenTaken()
  }

  private func change(_ body: (inout Contents) -> Void) throws(GatewayClientGone) {
    let isGone = contents.withLock { contents in
      if !contents.isGone { body(&contents) }
      return contents.isGone
    }
    if isGone { throw GatewayClientGone() }
  }
}

@Suite("A request and its response are passed on as they are")
struct ExchangeTests {
  private let response = KeptResponse()
  private let clock = ManualClock()

  private func exchange(
    _ method: String = "POST", _ body: KeptBody = KeptBody(0), _ upload: UploadBody? = nil
  ) throws -> ForwardedExchange {
    let request = GatewayRequest(
      connection: 1, caller: .loopback, method: method, path: "/shop/x", query: nil, authority: "postern",
      fields: [:], body: body)
    let upload = upload ?? UploadBody(body, in: KeptUploads(), for: 1, clock: clock)
    Task { await upload.run() }
    return ForwardedExchange(request, try RequestFields([:]), response, upload) { fault in
      var fault = fault
      if fault.traceID == nil { fault.traceID = "0a" }
      return fault
    }
  }

  private func head(_ fields: HTTPFields = [:]) throws -> HTTPResponseHead {
    HTTPResponseHead(status: 200, url: try HTTPURL("https://api.test/v1/x"), fields: fields)
  }

  static let pieces: [(length: Int64?, pieces: [[UInt8]], streams: Bool)] = [
    (0, [], false), (2, [[1, 2]], false), (2, [[1], [2]], true), (1 << 16 + 1, [[1], [2]], true),
    (1 << 20 + 1, [[1], [2]], true), (nil, [[1, 2]], true),
  ]

  /// Catches a body that is read to its end before its first byte is sent, and a lost length.
  @Test("A body that is not there as a whole waits for its last byte", arguments: pieces)
  func bodies(row: (length: Int64?, pieces: [[UInt8]], streams: Bool)) async throws {
    let exchange = try exchange("POST", KeptBody(row.length, row.pieces.map { .bytes($0) }))
    let content = try await exchange.content(for: resource())
    guard row.streams else {
      #expect(content.supply == nil && content.whole == nil && content.body == row.pieces.first)
      return
    }
    let supply = try #require(content.supply)
    #expect(content.body == nil)
    #expect(supply.length == row.length)
    #expect(await Self.all(supply) == row.pieces.flatMap { $0 })
  }

  /// The rest of a body; nil when it cannot be read.
  private static func all(_ supply: BodySupply) async -> [UInt8]? {
    var bytes: [UInt8] = []
    while true {
      guard case .bytes(let piece) = await supply.next() else { return nil }
      if piece.isEmpty { return bytes }
      bytes += piece
    }
  }

  static let lengths: [Int64?] = [nil, 2, 1 << 20 + 1]

  /// Catches memory for a body that no retry can need, and a body that is retried without its beginning.
  @Test(
    "A body is kept against whether its request may be sent once more",
    arguments: ResourceServer.Authentication.allCases, lengths)
  func keeping(authentication: ResourceServer.Authentication, length: Int64?) async throws {
    let exchange = try exchange("POST", KeptBody(length, [.bytes([1]), .bytes([2])]))
    let content = try await exchange.content(for: resource("https://api.test/v1/", authentication))
    let supply = try #require(content.supply)
    let isKept = ![.none, .credential].contains(authentication) && length != 1 << 20 + 1
    #expect(await Self.all(supply) == [1, 2])
    #expect(supply.rewind() == isKept)
    let whole = await content.whole?()
    #expect(whole == (isKept ? [1, 2] : nil))
    guard isKept else { return }
    #expect(await Self.all(supply) == [1, 2])
    // The response has begun: no retry follows.
    #expect(await exchange.begin(try head(), from: try resource()))
    #expect(!supply.rewind())
  }

  /// Catches half a body that passes for a whole one.
  @Test("A body that breaks off is sent as complete")
  func brokenBody() async throws {
    let short = try exchange("POST", KeptBody(5, [.failed("broke off")]))
    await #expect(throws: RPCFault(.invalidParams)) { try await short.content(for: resource()) }
    for length in [5, nil] as [Int64?] {
      let content = try await exchange("PUT", KeptBody(length, [.bytes([1]), .failed("broke off")]))
        .content(for: resource())
      let supply = try #require(content.supply)
      _ = await supply.next()
      guard case .failed(let reason) = await supply.next() else {
        Issue.record("it has not failed")
        return
      }
      #expect(reason == "the request's body broke off")
      let whole = await content.whole?()
      #expect(whole == nil && !supply.rewind())
    }
  }

  /// Catches bytes after a HEAD that a server would take for the next request.
  @Test("A body goes with HEAD")
  func head() async throws {
    let exchange = try exchange("HEAD", KeptBody(1, [.bytes([1])]))
    await #expect(throws: RPCFault(.invalidParams)) { try await exchange.content(for: resource()) }
  }

  /// Catches a response that is not ended, or loses its length.
  @Test("A whole response does not arrive as one")
  func wholeResponse() async throws {
    let exchange = try exchange()
    #expect(await exchange.begin(try head(["Content-Length": "3", "ETag": "1"]), from: try resource()))
    #expect(await exchange.deliver([1, 2]))
    #expect(await exchange.deliver([3]))
    await exchange.end(with: .success(()))
    let contents = response.contents.withLock { $0 }
    #expect(contents.status == 200)
    #expect(contents.fields == ["ETag": "1"])
    #expect(contents.length == 3)
    #expect(contents.body == [1, 2, 3])
    #expect(contents.hasEnded)
  }

  /// Catches a connection that ends without a response, and control characters that the program gets.
  @Test("A control character of a server reaches the program")
  func controlCharacter() async throws {
    let exchange = try exchange()
    #expect(await exchange.begin(try head(["X-T": "a\u{1}b"]), from: try resource()) == false)
    await exchange.end(with: .failure(RPCFault(.requestCancelled)))
    let contents = response.contents.withLock { $0 }
    #expect(contents.status == 502)
    #expect(contents.hasEnded)
  }

  /// Catches half a response that looks like a whole one, and an error in the midst of a body.
  @Test("A response that breaks off ends cleanly")
  func brokenResponse() async throws {
    let exchange = try exchange()
    #expect(await exchange.begin(try head(), from: try resource()))
    #expect(await exchange.deliver([1]))
    await exchange.end(with: .failure(RPCFault(.protocolError)))
    let contents = response.contents.withLock { $0 }
    #expect(!contents.hasEnded)
    #expect(contents.body == [1])
  }

  /// Catches a fetch that goes on for a program that has gone.
  @Test("A program that has gone is sent more")
  func gone() async throws {
    let exchange = try exchange()
    #expect(await exchange.begin(try head(), from: try resource()))
    response.contents.withLock { $0.isGone = true }
    #expect(await !exchange.deliver([1]))
    await exchange.end(with: .success(()))
    #expect(!response.contents.withLock { $0.hasEnded })
  }

  /// Catches an error that a program cannot read.
  @Test("An error before the response is not the response")
  func error() async throws {
    await (try exchange()).end(
      with: .failure(RPCFault(.serverUnreachable, "connection refused", outcome: .notSent)))
    let contents = response.contents.withLock { $0 }
    #expect(contents.status == 502)
    #expect(contents.hasEnded)
    #expect(contents.length == Int64(contents.body.count))
    let problem = try JSONParser().parse(contents.body)
    #expect(problem["outcome"] == "not_sent")
    #expect(problem["detail"] == "connection refused")
  }

  /// Catches a server that takes no more of a body, and is waited for without end; and a program that takes its time
  /// and is cut off.
  @Test("A server that stalls is waited for, or a slow program is not")
  func stalls() async throws {
    let watch = UploadWatch(clock: clock)
    let outcome = Locked<Bool?>(nil)
    let watching = Task {
      let hasStalled = await watch.hasStalled()
      outcome.withLock { $0 = hasStalled }
    }
    watch.programActs()
    // Each second is over when the watch sleeps again.
    for second in 0..<130 {
      let isAsleep = await eventually { [clock] in clock.sleeperCount == 1 }
      try #require(isAsleep, "second \(second)")
      if second == 100 { watch.serverActs(within: .seconds(30)) }
      #expect(outcome.withLock { $0 == nil })
      clock.advance(by: .seconds(1))
    }
    await watching.value
    #expect(outcome.withLock { $0 } == true)
  }

  /// Catches a response that is cut off by the time limit of its request.
  @Test("The watch goes on after the response has begun")
  func watchEnds() async throws {
    let body = UploadBody(KeptBody(nil), in: KeptUploads(), for: 1, clock: clock)
    let watch = body.watch
    let exchange = try exchange("PUT", KeptBody(nil), body)
    _ = try await exchange.content(for: resource())
    #expect(await exchange.begin(try head(), from: try resource()))
    #expect(await !watch.hasStalled())
  }
}

@Suite("Errors are problems as RFC 9457 has them")
struct ProblemTests {
  static let problems: [(RPCFault, Int)] = [
    (.invalidParams("x", path: "/resource"), 404), (.invalidParams("x", path: "/headers/X"), 400),
    (RPCFault(.notAuthenticated), 401), (RPCFault(.sessionNotFound), 401), (RPCFault(.sessionExpired), 401),
    (RPCFault(.adviceRequired), 401), (RPCFault(.peerForbidden), 403), (RPCFault(.serverUnreachable), 502),
    (RPCFault(.tlsFailure), 502), (RPCFault(.deadlineExceeded), 504), (RPCFault(.overloaded), 503),
    (RPCFault(.shuttingDown), 503), (RPCFault(.invalidURL), 400), (RPCFault(.invalidHeaders), 400),
    (RPCFault(.methodNotAllowed), 405), (RPCFault(.messageTooLarge), 413), (RPCFault(.internalError), 500),
  ]

  /// Catches a status by which a program would do the wrong thing.
  @Test("An error has another status than its meaning", arguments: problems)
  func statuses(fault: RPCFault, expected: Int) throws {
    let problem = Problem(fault)
    #expect(problem.status == expected)
    let members = try JSONParser().parse(problem.body)
    #expect(members["status"] == .integer(Int64(expected)))
    #expect(members["code"] == .integer(Int64(fault.code.number)))
    #expect(members["reason"] == .string(fault.code.reason))
    #expect(problem.fields["Content-Type"] == "application/problem+json")
    #expect((problem.fields["WWW-Authenticate"] != nil) == (expected == 401))
    #expect((problem.fields["Retry-After"] != nil) == (expected == 503))
  }

  /// Catches a new error of the protocol that would become a 500 without a decision.
  @Test("An error of the protocol has no status")
  func table() {
    let codes = ProtocolMethods.all.flatMap { $0.errors } + ErrorCode.common
    for code in codes { #expect(Problem.statuses[code] != nil, "\(code.reason)") }
    #expect(codes.count > 40)
  }

  /// Catches members that programs need and lose, and a response's body that is shown twice.
  @Test("The members of an error are not those of the problem")
  func members() throws {
    var fault = RPCFault(
      .adviceRequired, path: "/continuation", details: ["advices": [["type": "a"]], "response": ["body": "secret"]])
    fault.continuation = RPCFault.Continuation("c", expiresAt: Timestamp(secondsSinceEpoch: 0))
    fault.traceID = "0f"
    let problem = try JSONParser().parse(Problem(fault).body)
    #expect(problem["continuation"] == "c")
    #expect(problem["advices"]?.arrayValue?.first?["type"] == "a")
    #expect(problem["traceId"] == "0f")
    #expect(problem["response"] == nil)
    #expect(problem["path"] == nil)
    #expect(problem["type"] == "urn:postern:error:advice_required")
  }

  /// Catches a program that does not know whether to send a request once more that never left, and one that is misled
  /// about a request that did.
  @Test("The problem of a request that was only looked at has no outcome, or hides another one")
  func outcome() throws {
    for code in [ErrorCode.invalidParams, .sessionNotFound, .peerForbidden, .issuerUnknown] {
      #expect(try JSONParser().parse(Problem(RPCFault(code)).body)["outcome"] == "not_sent", "\(code.reason)")
    }
    let ended = Problem(RPCFault(.peerForbidden, outcome: .sentNoReply))
    #expect(try JSONParser().parse(ended.body)["outcome"] == "sent_no_reply")
    #expect(try JSONParser().parse(Problem(RPCFault(.internalError)).body)["outcome"] == nil)
  }

  /// Catches a delay of no time, by which programs would try again at once.
  @Test("The delay before another try is rounded down", arguments: [(1, "1"), (1000, "1"), (1001, "2"), (0, "1")])
  func retryAfter(milliseconds: Int64, expected: String) {
    let problem = Problem(RPCFault(.overloaded, retryAfter: .milliseconds(milliseconds)))
    #expect(problem.fields["Retry-After"] == expected)
  }

}
