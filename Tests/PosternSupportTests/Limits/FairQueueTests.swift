import PosternSupport
import Testing

@Suite("Fair queue")
struct FairQueueTests {
  /// Does everything at the same cost; the order in which it was done.
  private func drain(_ queue: inout FairQueue<String>, cost: Int64 = 10, atMost limit: Int = .max) -> [String] {
    var done: [String] = []
    while done.count < limit, let next = queue.next() {
      done.append(next.work)
      queue.charge(next.flow, cost)
    }
    return done
  }

  @Test("the work of one flow stays in order, however much there is")
  func order() {
    var queue = FairQueue<String>()
    let flow = queue.open(uid: 1)
    for round in 0..<3 {
      let names = (0..<500).map { "\(round).\($0)" }
      for name in names { queue.add(name, of: flow) }
      #expect(drain(&queue) == names)
    }
    #expect(queue.isEmpty)
  }

  @Test("who comes with little is next, whatever a neighbour has waiting")
  func newcomer() {
    var queue = FairQueue<String>()
    let (busy, quiet) = (queue.open(uid: 1), queue.open(uid: 2))
    for _ in 0..<100 { queue.add("busy", of: busy) }
    _ = drain(&queue, atMost: 20)
    queue.add("quiet", of: quiet)
    #expect(drain(&queue, atMost: 1) == ["quiet"])
    _ = drain(&queue, atMost: 5)
    queue.add("quiet again", of: quiet)
    #expect(drain(&queue, atMost: 1) == ["quiet again"])
  }

  @Test("a uid gets no more by opening more connections, and shares what it gets among them")
  func levels() {
    var queue = FairQueue<String>()
    for name in ["a", "b", "c"] {
      let flow = queue.open(uid: 1)
      for _ in 0..<40 { queue.add(name, of: flow) }
    }
    let other = queue.open(uid: 2)
    for _ in 0..<40 { queue.add("other", of: other) }
    let done = drain(&queue, atMost: 60)
    #expect(abs(done.count { $0 == "other" } - 30) <= 1)
    for name in ["a", "b", "c"] { #expect(abs(done.count { $0 == name } - 10) <= 1) }
  }

  @Test("shares are of what work costs, not of how many pieces it comes in")
  func cost() {
    var queue = FairQueue<String>()
    let (dear, cheap) = (queue.open(uid: 1), queue.open(uid: 2))
    for _ in 0..<100 { queue.add("dear", of: dear) }
    for _ in 0..<100 { queue.add("cheap", of: cheap) }
    var done: [String: Int] = [:]
    for _ in 0..<44 {
      guard let next = queue.next() else { break }
      done[next.work, default: 0] += 1
      queue.charge(next.flow, next.work == "dear" ? 1000 : 100)
    }
    #expect(abs((done["cheap"] ?? 0) - 40) <= 2)
  }

  @Test("quiet time is not saved up: who was away does not get everything when it comes back")
  func noCredit() {
    var queue = FairQueue<String>()
    let (steady, away) = (queue.open(uid: 1), queue.open(uid: 2))
    for _ in 0..<1000 { queue.add("steady", of: steady) }
    _ = drain(&queue, atMost: 500)
    for _ in 0..<100 { queue.add("away", of: away) }
    #expect(abs(drain(&queue, atMost: 40).count { $0 == "away" } - 20) <= 1)
  }

  @Test("a flow that is closed still has its work done, and its owner is forgotten")
  func closing() {
    var queue = FairQueue<String>()
    let flow = queue.open(uid: 1)
    queue.add("last", of: flow)
    queue.close(flow)
    queue.add("after", of: flow)
    #expect(drain(&queue) == ["last", "after"])
    #expect(queue.isEmpty)
  }
}
