/// Who may go now and who waits: a bound per key and one over all. First come, first served, but nobody waits for a
/// place that only another key lacks.
///
/// libcurl has such bounds, too, but only looks at one of those who wait when a place becomes free: behind a slow
/// server's queue the exchanges with another one could wait for ever.
struct Admission<Key: Hashable, Element> {
  /// Names one that waits.
  struct Ticket: Hashable {
    fileprivate let key: Key
    fileprivate let number: UInt64
  }

  private struct Line {
    var inside = 0
    /// Numbers in order, from `first` on; some may have left meanwhile.
    var numbers: [UInt64] = []
    var first = 0
  }

  private let bound: Int
  private let boundPerKey: Int
  private var inside = 0
  private var lines: [Key: Line] = [:]
  private var waitingElements: [UInt64: Element] = [:]
  private var nextNumber: UInt64 = 0

  init(bound: Int, boundPerKey: Int) {
    self.bound = max(1, bound)
    self.boundPerKey = max(1, boundPerKey)
  }

  /// How many wait.
  var waitingCount: Int { waitingElements.count }

  /// Those who wait, in no order.
  var waiting: some Collection<Element> { waitingElements.values }

  /// Lets `element` in, and then returns nil; or has it wait.
  mutating func enter(_ element: Element, _ key: Key) -> Ticket? {
    if inside < bound, lines[key, default: Line()].inside < boundPerKey {
      inside += 1
      lines[key, default: Line()].inside += 1
      return nil
    }
    let number = nextNumber
    nextNumber += 1
    waitingElements[number] = element
    lines[key, default: Line()].numbers.append(number)
    return Ticket(key: key, number: number)
  }

  /// One that was inside is gone.
  mutating func leave(_ key: Key) {
    inside -= 1
    lines[key]?.inside -= 1
    tidy(key)
  }

  /// One that waits gives up; nil when it does not wait.
  mutating func giveUp(_ ticket: Ticket) -> Element? {
    guard let element = waitingElements.removeValue(forKey: ticket.number) else { return nil }
    tidy(ticket.key)
    return element
  }

  /// Lets in the one who has waited longest of those for whom there is a place.
  mutating func next() -> Element? {
    guard inside < bound, !waitingElements.isEmpty else { return nil }
    let eligible = lines.filter { $0.value.inside < boundPerKey && $0.value.first < $0.value.numbers.count }
    guard let (key, line) = eligible.min(by: { $0.value.numbers[$0.value.first] < $1.value.numbers[$1.value.first] }),
      let element = waitingElements.removeValue(forKey: line.numbers[line.first])
    else { return nil }
    inside += 1
    lines[key]?.inside += 1
    tidy(key)
    return element
  }

  /// Those who have left go out of the line, an empty line out of the table.
  private mutating func tidy(_ key: Key) {
    guard var line = lines.removeValue(forKey: key) else { return }
    while line.first < line.numbers.count, waitingElements[line.numbers[line.first]] == nil { line.first += 1 }
    if line.first > 64, line.first > line.numbers.count / 2 {
      line.numbers.removeFirst(line.first)
      line.first = 0
    }
    if line.inside > 0 || line.first < line.numbers.count { lines[key] = line }
  }
}
