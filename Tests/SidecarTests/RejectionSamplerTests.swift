import PosternSupport
import PosternTestSupport
import Testing

@testable import Sidecar

@Suite("Which refusals are recorded one by one")
struct RejectionSamplerTests {
  private let clock = ManualClock()

  private func knock(_ ledger: RejectionSampler, _ uid: UInt32, times: Int) -> Int {
    (0..<times).count { _ in ledger.admit(uid) != nil }
  }

  @Test("ten at once, one each ten seconds, which tells how many were not; the rest is told once, at the end")
  func counting() {
    let ledger = RejectionSampler(clock: clock)
    #expect(knock(ledger, 7, times: 25) == 10 && knock(ledger, 8, times: 3) == 3)
    clock.advance(by: .seconds(10))
    #expect(ledger.admit(7) == 15)
    #expect(knock(ledger, 7, times: 4) == 0)
    let rest = ledger.takeRest()
    #expect(rest.map(\.uid) == [7] && rest.map(\.more) == [4])
    #expect(ledger.takeRest().isEmpty)
  }

  @Test("many users who came once take no place for good, and what they are owed is not forgotten")
  func crowd() {
    let ledger = RejectionSampler(clock: clock)
    for uid in 0..<UInt32(1024) { #expect(knock(ledger, uid, times: 11) == 10) }
    // While all of them are known, a stranger shares the account of strangers.
    #expect(knock(ledger, 5000, times: 6) == 6 && knock(ledger, 5001, times: 6) == 4)
    clock.advance(by: .seconds(200))
    #expect(knock(ledger, 5002, times: 25) == 10)
    let rest = ledger.takeRest()
    #expect(rest.map(\.uid) == [5002, nil] && rest.map(\.more) == [15, 1024 + 2])
  }
}
