import AuthEngine
import HTTPMessages
import PlaygroundTestSupport
import PosternExamples
import PosternSupport
import Testing

/// Tasks over libcurl and a real server: whatever ends them, the transfer ends, too.
@Suite("Tasks over the real transport", .timeLimit(.minutes(3)))
struct TransferEndTests {
  private func outcome(
    _ outcomes: Locked<[Result<ResourceResponse, ResourceError>]>
  ) async -> Result<ResourceResponse, ResourceError>? {
    _ = await eventually { outcomes.withLock { !$0.isEmpty } }
    return outcomes.withLock { $0.count == 1 ? $0[0] : nil }
  }

  private func failure(_ outcomes: Locked<[Result<ResourceResponse, ResourceError>]>) async -> ResourceError? {
    guard case .failure(let error)? = await outcome(outcomes) else { return nil }
    return error
  }

  @Test("cancel ends a transfer that hangs, running or suspended", arguments: [false, true])
  func cancel(isSuspended: Bool) async throws {
    try await ResourceAccess.atPlayground { access, _ in
      let outcomes = Locked<[Result<ResourceResponse, ResourceError>]>([])
      let request = ResourceRequest(path: "slow?ms=60000", method: "POST", body: [UInt8](repeating: 65, count: 1000))
      let task = access.device.sendAuthenticatedRequest(request) { result in outcomes.withLock { $0.append(result) } }
      #expect(await eventually { task.progress.sent == 1000 })
      if isSuspended { task.suspend() }
      task.cancel()
      let error = try #require(await failure(outcomes))
      #expect(error.code == .requestCancelled && error.outcome == .sentNoReply)
      #expect(task.state == .cancelled && task.error?.outcome == .sentNoReply)
    }
  }

  @Test("a body that the sink rejects is not read to its end: of 500 MB hardly more arrives than was taken")
  func rejectedBody() async throws {
    try await ResourceAccess.atPlayground { access, _ in
      let outcomes = Locked<[Result<ResourceResponse, ResourceError>]>([])
      var options = FetchOptions()
      options.deliver = { _ in false }
      let request = ResourceRequest(path: "bytes/500000000")
      let task = access.device.sendAuthenticatedRequest(request, options: options) { result in
        outcomes.withLock { $0.append(result) }
      }
      let error = try #require(await failure(outcomes))
      #expect(error.code == .requestCancelled && error.outcome == .replied && task.state == .cancelled)
      #expect((1...(8 << 20)).contains(task.progress.received))
      #expect(try await access.orders().status == 200, "the transport goes on")
    }
  }

  @Test("a suspended transfer moves nothing and goes on when it is resumed")
  func suspended() async throws {
    try await ResourceAccess.atPlayground { access, _ in
      let outcomes = Locked<[Result<ResourceResponse, ResourceError>]>([])
      let taken = Locked(0)
      let gate = Gate()
      var options = FetchOptions()
      options.deliver = { piece in
        await gate.pass()
        taken.withLock { $0 += piece.count }
        return true
      }
      let request = ResourceRequest(path: "bytes/20000000")
      let task = access.device.sendAuthenticatedRequest(request, options: options) { result in
        outcomes.withLock { $0.append(result) }
      }
      #expect(await eventually { gate.waiterCount == 1 })
      task.suspend()
      gate.open()
      // What was on its way is taken; more does not come, however long one looks.
      #expect(await eventually { taken.withLock { Int64($0) } == task.progress.received })
      #expect(task.state == .suspended && task.progress.received < 20_000_000 && outcomes.withLock { $0.isEmpty })
      task.resume()
      #expect((try? await outcome(outcomes)?.get())?.isStreamed == true && taken.withLock { $0 } == 20_000_000)
    }
  }

  @Test("cancel, suspend and resume race real answers to one outcome each")
  func race() async throws {
    try await ResourceAccess.atPlayground { access, _ in
      let counts = Locked<[NetworkTask.State: Int]>([:])
      for round in 0..<25 {
        let outcomes = Locked<[(Int, Result<ResourceResponse, ResourceError>)]>([])
        let tasks = (0..<16).map { number in
          let request = ResourceRequest(path: "bytes/\(number * 10_000)")
          return access.device.sendAuthenticatedRequest(request) { result in
            outcomes.withLock { $0.append((number, result)) }
          }
        }
        await withTaskGroup(of: Void.self) { group in
          for (number, task) in tasks.enumerated() {
            group.addTask {
              for _ in 0..<((round * 7 + number * 13) % 60) { await Task.yield() }
              if number.isMultiple(of: 2) { task.suspend() }
              if number % 3 == 0 { task.cancel() }
              task.resume()
            }
          }
        }
        #expect(await eventually { outcomes.withLock { $0.count } == 16 })
        let all = outcomes.withLock { $0 }
        #expect(Set(all.map(\.0)).count == 16)
        for (number, result) in all {
          let task = tasks[number]
          counts.withLock { $0[task.state, default: 0] += 1 }
          switch result {
          case .success(let response): #expect(task.state == .completed && response.body.count == number * 10_000)
          case .failure(let error): #expect(task.state == .cancelled && error.code == .requestCancelled)
          }
        }
      }
      #expect(counts.withLock { $0.keys.allSatisfy { $0 == .completed || $0 == .cancelled } })
    }
  }
}
