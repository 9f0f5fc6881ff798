import PosternSupport
import PosternTestSupport
import Testing

@testable import PosternObservability
@testable import Sidecar

@Suite("Which rejections are recorded one by one")
struct RejectionSamplerTests {
  private let clock = ManualClock()

  private func attempt(_ ledger: RejectionSampler, _ uid: UInt32, times: Int) -> Int {
    (0..<times).count { _ in ledger.admit(uid) != nil }
  }

  @Test("ten at once, then one in ten seconds with the number of those left out; the rest is reported once, at the end")
  func counting() {
    let ledger = RejectionSampler(clock: clock)
    #expect(attempt(ledger, 7, times: 25) == 10 && attempt(ledger, 8, times: 3) == 3)
    clock.advance(by: .seconds(10))
    #expect(ledger.admit(7) == 15)
    #expect(attempt(ledger, 7, times: 4) == 0)
    let rest = ledger.takeRest()
    #expect(rest.map(\.uid) == [7] && rest.map(\.more) == [4])
    #expect(ledger.takeRest().isEmpty)
  }

  @Test("many users with one attempt each keep no slot, and the counts not yet reported are not lost")
  func crowd() {
    let ledger = RejectionSampler(clock: clock)
    for uid in 0..<UInt32(1024) { #expect(attempt(ledger, uid, times: 11) == 10) }
    // While all of them are known, a stranger shares the account of strangers.
    #expect(attempt(ledger, 5000, times: 6) == 6 && attempt(ledger, 5001, times: 6) == 4)
    clock.advance(by: .seconds(200))
    #expect(attempt(ledger, 5002, times: 25) == 10)
    let rest = ledger.takeRest()
    #expect(rest.map(\.uid) == [5002, nil] && rest.map(\.more) == [15, 1024 + 2])
  }
}
