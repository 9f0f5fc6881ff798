import Glibc

/// Memory for secrets: apart from everything else, never in the swap space where the system allows that, never in a
/// core dump, nothing in the copy of a process that was forked, and overwritten as soon as a secret goes.
///
/// Small secrets share pages: at most 31 bytes are lost for each. Safe to use from every thread.
public enum SecretMemory {
  /// How much there is of it.
  public struct Usage: Sendable, Equatable {
    /// Bytes that cannot be swapped out.
    public var lockedBytes = 0
    /// Bytes that can: `RLIMIT_MEMLOCK` was reached, or locking is off.
    public var unlockedBytes = 0
  }

  private struct State {
    var blocks: [SecretBlock] = []
    var isLocking = true
    var usage = Usage()
  }

  private static let state = Locked(State())

  /// How much there is of it now.
  public static var usage: Usage { state.withLock { $0.usage } }

  /// From now on nothing is locked, and what was no longer is. Everything else stays.
  public static func stopLocking() {
    state.withLock { state in
      state.isLocking = false
      for block in state.blocks where block.isLocked {
        block.unlock()
        state.usage.lockedBytes -= block.byteCount
        state.usage.unlockedBytes += block.byteCount
      }
    }
  }

  static func take(_ byteCount: Int) -> (block: SecretBlock, address: UnsafeMutableRawPointer) {
    state.withLock { state in
      for block in state.blocks {
        if let address = block.take(byteCount) { return (block, address) }
      }
      let block = SecretBlock(holding: byteCount, isLocking: state.isLocking)
      if block.isLocked {
        state.usage.lockedBytes += block.byteCount
      } else {
        state.usage.unlockedBytes += block.byteCount
      }
      state.blocks.append(block)
      guard let address = block.take(byteCount) else { fatalError("a new block of memory is too small") }
      return (block, address)
    }
  }

  /// The memory has been overwritten.
  static func give(back address: UnsafeMutableRawPointer, _ byteCount: Int, of block: SecretBlock) {
    state.withLock { state in
      block.give(back: address, byteCount)
      // One that is empty stays, so that a secret that comes and goes costs no system calls.
      guard block.isEmpty, block.isLarge || state.blocks.contains(where: { $0 !== block && $0.isEmpty && !$0.isLarge })
      else { return }
      state.blocks.removeAll { $0 === block }
      if block.isLocked {
        state.usage.lockedBytes -= block.byteCount
      } else {
        state.usage.unlockedBytes -= block.byteCount
      }
      block.unmap()
    }
  }
}

extension SecretMemory.Usage: ConciseStringConvertible {
  /// Bytes by kind.
  public var description: String { "\(Concise.count(lockedBytes, "byte")) locked, \(unlockedBytes) not" }
}
