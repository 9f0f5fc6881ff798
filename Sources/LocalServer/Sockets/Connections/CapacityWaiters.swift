/// The tasks that wait until the peer of one connection keeps up.
struct CapacityWaiters {
  private var nextTicket = 0
  private var continuations: [Int: CheckedContinuation<Bool, Never>] = [:]

  /// Whether there are none.
  var isEmpty: Bool { continuations.isEmpty }

  /// A number for a waiter to be known by.
  mutating func makeTicket() -> Int {
    nextTicket += 1
    return nextTicket
  }

  mutating func add(_ ticket: Int, _ continuation: CheckedContinuation<Bool, Never>) {
    continuations[ticket] = continuation
  }

  /// Takes one of them, to be resumed by the caller.
  mutating func remove(_ ticket: Int) -> CheckedContinuation<Bool, Never>? {
    continuations.removeValue(forKey: ticket)
  }

  /// Takes all of them, to be resumed by the caller.
  mutating func takeAll() -> [CheckedContinuation<Bool, Never>] {
    defer { continuations = [:] }
    return Array(continuations.values)
  }
}
