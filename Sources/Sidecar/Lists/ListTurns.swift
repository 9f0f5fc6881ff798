import AuthEngine
import PosternSupport

/// Whose list is put together: one of a uid at a time, its connections by turns. The others of that uid wait, as long
/// as they do not ask for too much together.
final class ListTurns: Sendable {
  private struct Line {
    let gate: FairGate
    var count = 0
    var entries = 0
  }

  /// How many entries the lists of one uid that are under way may ask for: ten of the longest pages, a hundred of the
  /// usual ones. Their answers are held in memory until the caller takes them.
  static let maxEntries = 10_000
  private static let limits = FairGate.Limits(inFlight: 1, queue: 4096, patience: .seconds(30))

  private let lines = Locked<[UInt32: Line]>([:])
  private let clock: any EngineClock

  init(clock: any EngineClock) { self.clock = clock }

  /// How many uids have lists under way.
  var count: Int { lines.withLock { $0.count } }

  /// Waits until it is the turn of a list of so many entries; `leave` must follow unless this throws.
  func enter(_ holder: Requester, entries: Int, until deadline: Deadline) async throws(FairGate.Refusal) {
    let gate = lines.withLock { lines -> FairGate? in
      var line = lines[holder.uid] ?? Line(gate: FairGate(Self.limits, clock: clock))
      guard line.entries + entries <= Self.maxEntries else { return nil }
      line.count += 1
      line.entries += entries
      lines[holder.uid] = line
      return line.gate
    }
    guard let gate else { throw .full }
    do throws(FairGate.Refusal) {
      _ = try await gate.enter(holder, until: deadline)
    } catch {
      forget(holder, entries)
      throw error
    }
  }

  /// The list is there.
  func leave(_ holder: Requester, entries: Int) { forget(holder, entries)?.leave(holder) }

  @discardableResult
  private func forget(_ holder: Requester, _ entries: Int) -> FairGate? {
    lines.withLock { lines in
      guard var line = lines[holder.uid] else { return nil }
      line.count -= 1
      line.entries -= entries
      lines[holder.uid] = line.count > 0 ? line : nil
      return line.gate
    }
  }
}
