import PosternSupport

/// Those who wait for one device's turns at a decision point: the uids take turns, and those of a uid go in their
/// order. So one that is its uid's first waits for one of each other uid at most, whatever these have waiting.
struct DecisionLine: Sendable {
  /// Who waits, of each uid in their order.
  private var numbers: [UInt32: [UInt64]] = [:]
  private var turns = RequesterTurns()

  /// Whether nobody waits.
  var isEmpty: Bool { numbers.isEmpty }

  /// Who waits.
  var owners: Dictionary<UInt32, [UInt64]>.Keys { numbers.keys }

  /// One of `owner` comes; later ones have larger numbers.
  mutating func come(_ owner: UInt32, _ number: UInt64) {
    numbers[owner, default: []].append(number)
    turns.come(owner)
  }

  /// How many of its own uid go before it.
  func rank(of owner: UInt32, _ number: UInt64) -> Int { numbers[owner]?.firstIndex(of: number) ?? 0 }

  /// How many go before it, while the uids `held` do not go at all.
  func ahead(of owner: UInt32, _ number: UInt64, held: Set<UInt32> = []) -> Int {
    guard let rank = numbers[owner]?.firstIndex(of: number) else { return 0 }
    return numbers.reduce(into: rank) { ahead, other in
      guard other.key != owner, !held.contains(other.key) else { return }
      ahead += min(other.value.count, rank)
      guard other.value.count > rank else { return }
      if (turns.turn(of: other.key), other.value[rank]) < (turns.turn(of: owner), number) { ahead += 1 }
    }
  }

  /// One goes, which is its uid's turn, or gives up.
  mutating func leave(_ owner: UInt32, _ number: UInt64, goes: Bool) {
    guard var left = numbers[owner], let rank = left.firstIndex(of: number) else { return }
    left.remove(at: rank)
    numbers[owner] = left.isEmpty ? nil : left
    turns.leave(owner, goes: goes)
  }
}
