import Glibc

/// Pages for secrets, cut into pieces of 32 bytes. Used under the lock of `SecretMemory`.
final class SecretBlock: @unchecked Sendable {
  // Sendable because everything that changes is touched under the lock of `SecretMemory` only.
  private static let pieceByteCount = 32
  /// The pages that small secrets share: all of the 64 KiB that some systems allow to be locked.
  private static let sharedByteCount = 64 << 10

  let byteCount: Int
  /// Whether it was made for one secret.
  let isLarge: Bool
  private(set) var isLocked = false
  private let base: UnsafeMutableRawPointer
  /// A bit for each piece: whether it is taken.
  private var taken: [UInt64]
  private var freePieces: Int
  /// No longer run of free pieces is known to be there.
  private var longestRun: Int

  init(holding wanted: Int, isLocking: Bool) {
    let page = Int(sysconf(Int32(_SC_PAGESIZE)))
    isLarge = wanted > Self.sharedByteCount / 2
    byteCount = isLarge ? (wanted + page - 1) / page * page : Self.sharedByteCount
    guard
      let base = mmap(nil, byteCount, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0), base != MAP_FAILED
    else { fatalError("no memory") }
    self.base = base
    freePieces = byteCount / Self.pieceByteCount
    longestRun = freePieces
    taken = Array(repeating: 0, count: (freePieces + 63) / 64)
    // Neither can fail on memory of this kind, but on a kernel that does not know it.
    madvise(base, byteCount, Int32(MADV_DONTDUMP))
    madvise(base, byteCount, Int32(MADV_WIPEONFORK))
    isLocked = isLocking && mlock(base, byteCount) == 0
  }

  var isEmpty: Bool { freePieces == byteCount / Self.pieceByteCount }

  func unlock() {
    munlock(base, byteCount)
    isLocked = false
  }

  func unmap() { munmap(base, byteCount) }

  /// Space for so many bytes; nil when there is none.
  func take(_ byteCount: Int) -> UnsafeMutableRawPointer? {
    let wanted = Self.pieces(byteCount)
    guard wanted <= longestRun, let first = firstRun(of: wanted) else {
      longestRun = min(longestRun, wanted - 1)
      return nil
    }
    mark(first, wanted, as: true)
    freePieces -= wanted
    longestRun = min(longestRun, freePieces)
    return base + first * Self.pieceByteCount
  }

  func give(back address: UnsafeMutableRawPointer, _ byteCount: Int) {
    let count = Self.pieces(byteCount)
    mark((address - base) / Self.pieceByteCount, count, as: false)
    freePieces += count
    longestRun = freePieces
  }

  private static func pieces(_ byteCount: Int) -> Int { (byteCount + pieceByteCount - 1) / pieceByteCount }

  private func firstRun(of wanted: Int) -> Int? {
    var run = 0
    let count = byteCount / Self.pieceByteCount
    var piece = 0
    while piece < count {
      let word = taken[piece / 64]
      if piece % 64 == 0, word == .max {
        run = 0
        piece += 64
      } else if piece % 64 == 0, word == 0, run + 64 < wanted {
        run += 64
        piece += 64
      } else {
        run = word & (1 << UInt64(piece % 64)) == 0 ? run + 1 : 0
        piece += 1
        if run == wanted { return piece - wanted }
      }
    }
    return nil
  }

  private func mark(_ first: Int, _ count: Int, as value: Bool) {
    for piece in first..<first + count {
      let bit: UInt64 = 1 << UInt64(piece % 64)
      if value { taken[piece / 64] |= bit } else { taken[piece / 64] &= ~bit }
    }
  }
}
