import PosternSupport
import Testing

@testable import CurlTransport

@Suite("What becomes of a loop that does not come back from libcurl")
struct LoopWatchTests {
  @Test(
    "a loop that waits, or has new iterations, is taken for a stuck one; a stuck one is left alone, met at each look or not counted"
  )
  func looks() throws {
    let inbox = Inbox(multi: try MultiHandle(configuration: CurlTransport.Configuration()))
    var watch = LoopWatch(inbox, ConnectionCount(), patience: .seconds(3))
    var batch = Inbox.Batch()
    func look(_ second: Int64) -> Bool {
      watch.look(at: MonotonicInstant(nanoseconds: second * 1_000_000_000))
    }
    inbox.take(into: &batch)
    #expect(!look(10))
    #expect(!look(12))
    inbox.take(into: &batch)
    let later: [(Int64, Bool)] = [(13, false), (15, false), (16, true), (17, false), (19, true)]
    for (second, isStuck) in later {
      #expect(look(second) == isStuck, "\(second)")
    }
    #expect(inbox.fallAsleep(publishing: CurlTransport.Statistics()))
    #expect(!look(30))
    // Woken, and at work in the same iteration: the time counts from here.
    _ = inbox.wakeLoop()
    #expect(!look(31))
    #expect(look(34))
    inbox.end(publishing: CurlTransport.Statistics())
    #expect(!look(40))
    #expect(inbox.statistics().stalls == 3)
  }
}
