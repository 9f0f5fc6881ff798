import PosternSupport
import Testing

/// Random numbers for identifiers.
@Suite struct NonSecretRandomTests {
  /// The state from which SplitMix64 makes `number`: every step of it can be undone.
  private func state(behind number: UInt64) -> UInt64 {
    func undo(_ value: UInt64, shift: UInt64) -> UInt64 {
      var found = value
      for _ in 0..<(64 / shift + 1) { found = value ^ (found >> shift) }
      return found
    }
    func inverse(_ odd: UInt64) -> UInt64 {
      var found = odd
      for _ in 0..<6 { found &*= 2 &- odd &* found }
      return found
    }
    var state = undo(number, shift: 31) &* inverse(0x94D0_49BB_1331_11EB)
    state = undo(state, shift: 27) &* inverse(0xBF58_476D_1CE4_E5B9)
    return undo(state, shift: 30)
  }

  @Test("one number reveals the next, or how many were drawn between two")
  func independent() {
    let random = NonSecretRandom.shared
    let numbers = (0..<1000).map { _ in random.next() }
    #expect(Set(numbers).count == 1000)
    let steps = Set(zip(numbers, numbers.dropFirst()).map { state(behind: $1) &- state(behind: $0) })
    #expect(steps.count == 999)
  }
}
