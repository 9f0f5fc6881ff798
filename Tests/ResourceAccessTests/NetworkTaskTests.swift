import AuthEngine
import EngineTestSupport
import HTTPMessages
import PosternSupport
import PosternTestSupport
import Testing

/// Tasks: what acts on which state, and who wins.
@Suite(.bothWays) struct NetworkTaskTests {
  private func task(_ clock: ManualClock = ManualClock()) -> NetworkTask {
    NetworkTask(identifier: "t", request: ResourceRequest(path: "x"), clock: clock)
  }

  @Test("suspend acts on running, resume on suspended, cancel on both; everything else does nothing")
  func transitions() {
    let task = task()
    #expect(task.state == .running)
    task.resume()
    #expect(task.state == .running)
    task.suspend()
    task.suspend()
    #expect(task.state == .suspended)
    task.resume()
    #expect(task.state == .running)
    task.suspend()
    task.cancel()
    #expect(task.state == .cancelled && task.error?.code == .requestCancelled && task.response == nil)
    task.resume()
    task.suspend()
    task.cancel()
    #expect(task.state == .cancelled)
  }

  @Test("a fetch ends its task: with its response, its error, or as cancelled")
  func ends() async throws {
    let engine = Engine { request, _ throws(TransportError) in
      guard request.url.path.hasSuffix("ok") else {
        throw TransportError(code: .serverUnreachable, outcome: .notSent, detail: "")
      }
      return .status(204)
    }
    for (path, state) in [("ok", NetworkTask.State.completed), ("no", .completed)] {
      let request = ResourceRequest(path: path)
      var options = FetchOptions()
      let task = NetworkTask(identifier: path, request: request, clock: engine.clock)
      options.task = task
      _ = try? await engine.fetcher.fetch(request, from: .testing(authentication: .none), options: options)
      #expect(task.state == state && task.url?.path.hasSuffix(path) == true)
      #expect((task.response?.status == 204) == (path == "ok") && (task.error == nil) == (path == "ok"))
      task.cancel()
      #expect(task.state == .completed)
    }
  }

  @Test("a task that was cancelled first stays cancelled although its answer came: the caller hears one thing")
  func cancelWins() async throws {
    let gate = Gate()
    let engine = Engine { _, _ throws(TransportError) in
      await gate.pass()
      return .status(200)
    }
    let request = ResourceRequest(path: "x")
    let task = NetworkTask(identifier: "t", request: request, clock: engine.clock)
    var options = FetchOptions()
    options.task = task
    let fetch = Task { [options] in
      try await engine.fetcher.fetch(request, from: .testing(authentication: .none), options: options)
    }
    #expect(await eventually { gate.waiterCount == 1 })
    task.cancel()
    #expect(task.state == .cancelled && task.error?.outcome == .sentNoReply, "the worst, while it is open")
    gate.open()
    let error = await #expect(throws: ResourceError.self) { try await fetch.value }
    #expect(error?.code == .requestCancelled && task.state == .cancelled && task.response == nil)
    #expect(error?.outcome == .replied && task.error?.outcome == .replied, "what really happened")
    #expect(!fetch.isCancelled, "the caller's own task goes on")
  }

  @Test("a suspended fetch sends no request, and its timeout continues from where it was paused")
  func suspended() async throws {
    let clock = ManualClock()
    let engine = Engine(clock: clock) { _, options throws(TransportError) in
      let due = options.deadline.instant.map { $0 + (options.control?.pausedTime(at: clock.monotonicNow) ?? .zero) }
      guard due.map({ $0 > clock.monotonicNow }) ?? true else {
        throw TransportError(code: .timedOut, outcome: .notSent, detail: "")
      }
      return .status(200)
    }
    let request = ResourceRequest(path: "x")
    let task = NetworkTask(identifier: "t", request: request, clock: clock)
    var options = FetchOptions(timeout: .seconds(5))
    options.task = task
    task.suspend()
    let fetch = Task { [options] in
      try await engine.fetcher.fetch(request, from: .testing(authentication: .none), options: options)
    }
    for _ in 0..<100 { await Task.yield() }
    clock.advance(by: .seconds(60))
    #expect(engine.transport.requests.isEmpty)
    task.resume()
    #expect(try await fetch.value.status == 200)
  }

  @Test("after suspending and resuming from many sides at once one resume sets the fetch free", .timeLimit(.minutes(1)))
  func storm() async throws {
    let engine = Engine { _, _ in .status(204) }
    let request = ResourceRequest(path: "x")
    for _ in 0..<300 {
      let task = NetworkTask(identifier: "t", request: request, clock: engine.clock)
      await withTaskGroup(of: Void.self) { group in
        for number in 0..<8 { group.addTask { if number.isMultiple(of: 2) { task.suspend() } else { task.resume() } } }
      }
      task.resume()
      #expect(task.state == .running)
      var options = FetchOptions()
      options.task = task
      let server = try ResourceServer.testing(authentication: .none)
      #expect(try await engine.fetcher.fetch(request, from: server, options: options).status == 204)
    }
  }

  @Test("a task that is cancelled while it is suspended resumes the callers that wait for it")
  func cancelledWhileSuspended() async throws {
    let engine = Engine { _, _ in .status(200) }
    let request = ResourceRequest(path: "x")
    let task = NetworkTask(identifier: "t", request: request, clock: engine.clock)
    var options = FetchOptions()
    options.task = task
    task.suspend()
    let fetch = Task { [options] in
      try await engine.fetcher.fetch(request, from: .testing(authentication: .none), options: options)
    }
    for _ in 0..<100 { await Task.yield() }
    task.cancel()
    let error = await #expect(throws: ResourceError.self) { try await fetch.value }
    #expect(error?.code == .requestCancelled && task.state == .cancelled)
  }
}
