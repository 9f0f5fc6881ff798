import PosternSupport

/// The timers of a loop, the earliest first: a binary heap. A cancelled timer leaves the heap when it would be due.
public struct LoopTimers {
  /// Identifies a timer of one loop; never used again.
  public struct ID: Sendable, Hashable {
    fileprivate let number: UInt64
  }

  private struct Entry {
    let due: MonotonicInstant
    let number: UInt64

    func isBefore(_ other: Entry) -> Bool { due == other.due ? number < other.number : due < other.due }
  }

  private var heap: [Entry] = []
  private var bodies: [UInt64: () -> Void] = [:]
  private var count: UInt64 = 0

  /// When the next timer is due; nil without timers.
  var earliest: MonotonicInstant? { heap.first?.due }

  /// How many entries there are, cancelled ones included.
  var size: Int { heap.count }

  /// Adds a timer.
  mutating func add(at due: MonotonicInstant, _ body: @escaping () -> Void) -> ID {
    count += 1
    bodies[count] = body
    heap.append(Entry(due: due, number: count))
    siftUp(heap.count - 1)
    return ID(number: count)
  }

  /// Cancels a timer.
  mutating func cancel(_ timer: ID) {
    guard bodies.removeValue(forKey: timer.number) != nil else { return }
    // Timers that are set and cancelled again and again must not accumulate.
    if heap.count > 64, bodies.count * 2 < heap.count { removeCancelled() }
  }

  /// Takes the next timer that is due at `now`; nil: none is.
  mutating func next(at now: MonotonicInstant) -> (() -> Void)? {
    while let first = heap.first, first.due <= now {
      removeFirst()
      if let body = bodies.removeValue(forKey: first.number) { return body }
    }
    return nil
  }

  private mutating func removeCancelled() {
    heap = heap.filter { bodies[$0.number] != nil }.sorted { $0.isBefore($1) }
  }

  private mutating func removeFirst() {
    let last = heap.removeLast()
    guard !heap.isEmpty else { return }
    heap[0] = last
    var index = 0
    while true {
      var smallest = index
      for child in [2 * index + 1, 2 * index + 2] where child < heap.count && heap[child].isBefore(heap[smallest]) {
        smallest = child
      }
      guard smallest != index else { return }
      heap.swapAt(index, smallest)
      index = smallest
    }
  }

  private mutating func siftUp(_ start: Int) {
    var index = start
    while index > 0, heap[index].isBefore(heap[(index - 1) / 2]) {
      heap.swapAt(index, (index - 1) / 2)
      index = (index - 1) / 2
    }
  }
}
