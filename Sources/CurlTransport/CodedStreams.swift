/// Bounds the memory that libcurl may need for streams with a content coding, by uid.
///
/// It undoes what it reads at once, and keeps for a stream that is paused what its reader has not taken: of a few
/// kilobytes that can be many megabytes. Only libcurl can bound that for one stream, so each counts from its head
/// on with the most that it can come to. Owned by the loop.
final class CodedStreams {
  /// For one uid at most.
  static let bytesPerUid = 64 << 20
  /// How many bytes libcurl reads at once for a request whose body may be taken in pieces.
  static let readBytes = 4 << 10
  /// libcurl's own bound, beyond which the exchange fails.
  private static let bytesAtMost = 64 << 20
  /// Deflate makes no more than 1,032 bytes of one.
  private static let deflateBytes = readBytes * 1032

  private var used: [UInt32: Int] = [:]

  /// The most that a stream can need whose response had these codings.
  static func weight(of codings: [String]) -> Int {
    guard let first = codings.first else { return 0 }
    let isDeflate = codings.count == 1 && ["deflate", "gzip", "x-gzip"].contains(first)
    return isDeflate ? deflateBytes : bytesAtMost
  }

  /// A stream of `uid` begins; false when it could need more than is left.
  func begin(_ weight: Int, of uid: UInt32) -> Bool {
    let sum = (used[uid] ?? 0) + weight
    guard sum <= Self.bytesPerUid else { return false }
    used[uid] = sum > 0 ? sum : nil
    return true
  }

  /// A stream that had begun is over.
  func end(_ weight: Int, of uid: UInt32) {
    let left = (used[uid] ?? 0) - weight
    used[uid] = left > 0 ? left : nil
  }
}
