import PosternSupport

/// Lines that the server's side of a test writes down and the test waits for.
final class EventLog: Sendable {
  private struct Waiter {
    let ticket: Int
    let prefix: String
    let continuation: CheckedContinuation<String, Never>
  }

  private struct State {
    var lines: [String] = []
    var waiters: [Waiter] = []
    var nextTicket = 0
  }

  private let state = Locked(State())

  var lines: [String] { state.withLock { $0.lines } }

  func add(_ line: String) {
    let due = state.withLock { state in
      state.lines.append(line)
      let due = state.waiters.filter { line.hasPrefix($0.prefix) }
      state.waiters.removeAll { line.hasPrefix($0.prefix) }
      return due
    }
    for waiter in due { waiter.continuation.resume(returning: line) }
  }

  /// The first line that starts with `prefix`, now or later; "cancelled" when the test's time limit comes first.
  @discardableResult
  func first(_ prefix: String) async -> String {
    let ticket = state.withLock { state in
      state.nextTicket += 1
      return state.nextTicket
    }
    return await withTaskCancellationHandler {
      await withCheckedContinuation { continuation in
        let found = state.withLock { state -> String? in
          if let line = state.lines.first(where: { $0.hasPrefix(prefix) }) { return line }
          state.waiters.append(Waiter(ticket: ticket, prefix: prefix, continuation: continuation))
          return nil
        }
        if let found { continuation.resume(returning: found) } else if Task.isCancelled { cancel(ticket) }
      }
    } onCancel: {
      cancel(ticket)
    }
  }

  private func cancel(_ ticket: Int) {
    let waiter = state.withLock { state in
      state.waiters.firstIndex { $0.ticket == ticket }.map { state.waiters.remove(at: $0) }
    }
    waiter?.continuation.resume(returning: "cancelled")
  }
}
