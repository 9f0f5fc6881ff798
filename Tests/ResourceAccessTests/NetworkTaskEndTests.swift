import AuthEngine
import EngineTestSupport
import HTTPMessages
import PosternSupport
import PosternTestSupport
import Testing

/// A task ends its fetch by itself, wherever that is, and there is one outcome.
@Suite(.bothWays) struct NetworkTaskEndTests {
  private static let request = ResourceRequest(path: "x")

  private static func head(_ status: Int) -> HTTPResponseHead {
    guard let url = try? HTTPURL("https://api.test/base/x") else { preconditionFailure("a URL") }
    return HTTPResponseHead(
      status: status, url: url, fields: HTTPFields([HTTPFields.Field(name: "X-Kind", value: "a")]))
  }

  /// Hangs until the exchange is cancelled.
  private static func hang(_ clock: ManualClock) async throws(TransportError) -> HTTPResponse {
    try? await clock.sleep(for: .seconds(86_400))
    throw TransportError(code: .cancelled, outcome: .sentNoReply, detail: "cancelled")
  }

  @Test(
    "cancel ends the fetch in every state: during its token request, in flight, and while it is suspended",
    .timeLimit(.minutes(1)), arguments: ["token", "flight", "suspended", "before"])
  func cancel(moment: String) async throws {
    let clock = ManualClock()
    let engine = Engine(clock: clock) { request, _ throws(TransportError) in
      if request.url.path == "/token", moment != "token" { return .token("a") }
      return try await Self.hang(clock)
    }
    let outcomes = Outcomes()
    var options = FetchOptions()
    let task = NetworkTask(request: Self.request, clock: clock)
    options.task = task
    if moment == "suspended" { task.suspend() }
    if moment == "before" { task.cancel() }
    let same = try engine.fetcher.fetch(
      Self.request, from: .testing(), options: options, completion: { outcomes.take($0) })
    #expect(same === task)
    switch moment {
    case "token": #expect(await eventually { engine.tokenRequests.count == 1 })
    case "flight": #expect(await eventually { engine.transport.requests(to: "https://api.test/").count == 1 })
    default: for _ in 0..<100 { await Task.yield() }
    }
    task.cancel()
    #expect(task.state == .cancelled)
    let error = await outcomes.only?.failure
    #expect(error?.code == .requestCancelled && task.state == .cancelled)
    #expect(error?.outcome == (moment == "flight" ? .sentNoReply : .notSent) && task.error?.outcome == error?.outcome)
    #expect(engine.transport.requests(to: "https://api.test/").count == (moment == "flight" ? 1 : 0))
  }

  @Test("a token's wait does not use up the time of a fetch that is suspended meanwhile", .timeLimit(.minutes(1)))
  func staysPaused() async throws {
    let clock = ManualClock()
    let gate = Gate()
    let engine = Engine(clock: clock) { request, _ throws(TransportError) in
      guard request.url.path == "/token" else { return .status(204) }
      await gate.pass()
      return .token("a")
    }
    let outcomes = Outcomes()
    let task = try engine.fetcher.fetch(
      Self.request, from: .testing(), options: FetchOptions(timeout: .seconds(5)), completion: { outcomes.take($0) })
    #expect(await eventually { gate.waiterCount == 1 && clock.sleeperCount > 0 })
    task.suspend()
    clock.advance(by: .seconds(60))
    for _ in 0..<1000 { await Task.yield() }
    #expect(task.state == .suspended && task.error == nil)
    task.resume()
    gate.open()
    #expect(await outcomes.only?.success?.status == 204)
  }

  @Test("its own deadline still ends a fetch that waits for a token", .timeLimit(.minutes(1)))
  func deadline() async throws {
    let clock = ManualClock()
    let engine = Engine(clock: clock) { _, _ throws(TransportError) in try await Self.hang(clock) }
    let outcomes = Outcomes()
    try engine.fetcher.fetch(
      Self.request, from: .testing(), options: FetchOptions(timeout: .seconds(5)), completion: { outcomes.take($0) })
    #expect(await eventually { engine.tokenRequests.count == 1 && clock.sleeperCount > 1 })
    clock.advance(by: .seconds(6))
    #expect(await outcomes.only?.failure?.code == .deadlineExceeded)
  }

  @Test("when the body is no longer taken the exchange is ended, not read to its end", .timeLimit(.minutes(1)))
  func rejected() async throws {
    let clock = ManualClock()
    // As large as a piece can be: what comes behind it is another one.
    let first = [UInt8](repeating: 1, count: TransferControl.pieceBytes)
    let engine = Engine(clock: clock) { _, options throws(TransportError) in
      #expect(options.control?.begins(Self.head(200)) == true)
      options.control?.give(first)
      options.control?.give([4])
      return try await Self.hang(clock)
    }
    let taken = Locked<[[UInt8]]>([])
    var options = FetchOptions()
    options.deliver = { piece in
      taken.withLock { $0.append(piece) }
      return false
    }
    let outcomes = Outcomes()
    let task = try engine.fetcher.fetch(
      Self.request, from: .testing(authentication: .none), options: options, completion: { outcomes.take($0) })
    let error = await outcomes.only?.failure
    #expect(error?.code == .requestCancelled && error?.detail == "the body is no longer taken")
    #expect(task.state == .cancelled && taken.withLock { $0 } == [first])
  }

  @Test(
    "a transfer that breaks while pieces wait fails as what it is, not as one that was cancelled",
    .timeLimit(.minutes(1)))
  func broken() async throws {
    let engine = Engine(clock: ManualClock()) { _, options throws(TransportError) in
      #expect(options.control?.begins(Self.head(200)) == true)
      for _ in 0..<4 { options.control?.give([UInt8](repeating: 1, count: TransferControl.pieceBytes)) }
      throw TransportError(code: .serverUnreachable, outcome: .replied, detail: "reset")
    }
    var slow = FetchOptions()
    slow.deliver = { _ in
      await Task.yield()
      return true
    }
    let options = slow
    let server = try ResourceServer.testing(authentication: .none)
    for _ in 0..<100 {
      let error = await #expect(throws: ResourceError.self) {
        try await engine.fetcher.fetch(Self.request, from: server, options: options)
      }
      #expect(error?.code == .serverUnreachable && error?.outcome == .replied)
    }
  }

  /// How a transport answers, and which of its events are reported, in order.
  struct HeadRow: Sendable, CustomTestStringConvertible {
    var testDescription: String
    var status: Int
    var streams: Bool
    var rejectsHead = false
    var reported: [String]
  }

  @Test(
    "the head is reported once, first, also with a body that is not streamed or absent; rejecting it ends the fetch",
    .timeLimit(.minutes(1)),
    arguments: [
      HeadRow(testDescription: "streamed", status: 200, streams: true, reported: ["200 https://api.test/base/x", "1"]),
      HeadRow(
        testDescription: "at its end", status: 401, streams: false, reported: ["401 https://api.test/base/x", "2"]),
      HeadRow(
        testDescription: "rejected", status: 200, streams: true, rejectsHead: true,
        reported: ["200 https://api.test/base/x"]
      ),
      HeadRow(
        testDescription: "rejected at its end", status: 403, streams: false, rejectsHead: true,
        reported: ["403 https://api.test/base/x"]),
    ])
  func headFirst(row: HeadRow) async throws {
    let engine = Engine(clock: ManualClock()) { _, options throws(TransportError) in
      #expect(options.control?.begins(Self.head(row.status)) == row.streams)
      if row.streams { options.control?.give([1]) }
      return HTTPResponse(status: row.status, body: row.streams ? [] : [2])
    }
    let reported = Locked<[String]>([])
    var options = FetchOptions()
    options.deliver = { piece in
      if !piece.isEmpty { reported.withLock { $0.append(piece.map(String.init).joined()) } }
      return true
    }
    options.deliverHead = { head in
      reported.withLock { $0.append("\(head.status) \(head.url)") }
      return !row.rejectsHead
    }
    let server = try ResourceServer.testing(authentication: .none)
    let fetch = Task { [options] in try await engine.fetcher.fetch(Self.request, from: server, options: options) }
    switch await fetch.result {
    case .success(let response): #expect(!row.rejectsHead && response.isStreamed && response.status == row.status)
    case .failure(let error):
      #expect(row.rejectsHead && (error as? ResourceError)?.code == .requestCancelled)
    }
    #expect(reported.withLock { $0 } == row.reported)
  }

  @Test("the async form hands a body on in pieces, too, and ends when its task does", .timeLimit(.minutes(1)))
  func asyncForm() async throws {
    let clock = ManualClock()
    let engine = Engine(clock: clock) { _, options throws(TransportError) in
      guard options.control?.begins(Self.head(200)) == true else { return .status(500) }
      options.control?.give([1, 2, 3])
      return .status(200)
    }
    let taken = Locked<[UInt8]>([])
    var options = FetchOptions()
    options.deliver = { piece in
      taken.withLock { $0 += piece }
      return true
    }
    let server = try ResourceServer.testing(authentication: .none)
    let response = try await engine.fetcher.fetch(Self.request, from: server, options: options)
    #expect(response.isStreamed && taken.withLock { $0 } == [1, 2, 3])
    let hanging = Engine(clock: clock) { _, _ throws(TransportError) in try await Self.hang(clock) }
    let fetch = Task { [options] in try await hanging.fetcher.fetch(Self.request, from: server, options: options) }
    #expect(await eventually { hanging.transport.requests.count == 1 })
    fetch.cancel()
    let error = await #expect(throws: ResourceError.self) { try await fetch.value }
    #expect(error?.code == .requestCancelled && error?.outcome == .sentNoReply)
  }

  @Test("a task is one fetch's: a second one is rejected and changes nothing")
  func secondUse() async throws {
    let engine = Engine { _, _ in .status(204) }
    var options = FetchOptions()
    let task = NetworkTask(request: Self.request, clock: engine.clock)
    options.task = task
    let server = try ResourceServer.testing(authentication: .none)
    #expect(try await engine.fetcher.fetch(Self.request, from: server, options: options).status == 204)
    let error = await #expect(throws: ResourceError.self) {
      try await engine.fetcher.fetch(Self.request, from: server, options: options)
    }
    #expect(error?.code == .requestCancelled && error?.outcome == .notSent)
    #expect(task.state == .completed && engine.transport.requests.count == 1)
  }

  @Test("cancel, suspend, resume, the answer and the caller's end race to one outcome", .timeLimit(.minutes(2)))
  func race() async throws {
    let server = try ResourceServer.testing(authentication: .none)
    for round in 0..<400 {
      let gate = Gate()
      let engine = Engine { _, options throws(TransportError) in
        await gate.pass()
        await options.control?.waitUntilResumed()
        if Task.isCancelled { throw TransportError(code: .cancelled, outcome: .sentNoReply, detail: "") }
        return .status(204)
      }
      let outcomes = Outcomes()
      let task = engine.fetcher.fetch(Self.request, from: server) { outcomes.take($0) }
      await withTaskGroup(of: Void.self) { group in
        for number in 0..<4 { group.addTask { if (number + round) % 2 == 0 { task.suspend() } else { task.resume() } } }
        group.addTask { gate.open() }
        if round % 3 > 0 { group.addTask { task.cancel() } }
        group.addTask { _ = (task.state, task.error, task.response) }
      }
      task.resume()
      let outcome = try #require(await outcomes.only)
      switch outcome {
      case .success: #expect(task.state == .completed && task.response?.status == 204 && task.error == nil)
      case .failure(let error): #expect(error.code == .requestCancelled && task.state == .cancelled && round % 3 > 0)
      }
      let state = task.state
      task.suspend()
      task.cancel()
      #expect(task.state == state)
    }
  }
}
