import HTTPMessages

/// A body with a content coding that is undone as its reader takes it.
///
/// libcurl would undo at once all that it has read, of a few kilobytes many megabytes. Here the bytes stay with libcurl
/// until everything in them has been undone.
struct CodedStream {
  /// The outcome of an offer of bytes.
  enum Progress {
    /// All of them are undone.
    case taken
    /// There is more in them: they must be offered again.
    case more
    case broken
  }

  private let inflation: Inflation
  /// How many of the bytes that libcurl offers next were offered before, and are with zlib.
  private var known = 0
  private var isEmpty = true
  /// The first byte, where it came alone: zlib needs two to see whether a frame begins.
  private var firstByte: UInt8?

  /// Nil for what is not undone here.
  init?(_ codings: [String]) {
    guard codings.count == 1, let inflation = Inflation(codings[0]) else { return nil }
    self.inflation = inflation
  }

  /// Whether the coding has come to its own end. No bytes are no body, whatever coding is named.
  var isComplete: Bool { isEmpty || inflation.isOver }

  /// Undoes a piece of `bytes` and calls `give` with it. They begin with those that were offered before and not taken:
  /// libcurl may have added to them, or offer them in smaller parts.
  mutating func undo(_ bytes: UnsafeBufferPointer<UInt8>, give: (UnsafeBufferPointer<UInt8>) -> Void) -> Progress {
    if isEmpty, bytes.count == 1 {
      (isEmpty, firstByte) = (false, bytes[0])
      return .taken
    }
    isEmpty = false
    feed(bytes)
    if inflation.hasWork {
      guard let piece = try? inflation.step() else { return .broken }
      if !piece.isEmpty { piece.withUnsafeBufferPointer(give) }
    }
    // What lies behind the end of the coding is not looked at.
    guard inflation.isOver || !inflation.hasWork && known >= bytes.count else { return .more }
    known = max(0, known - bytes.count)
    return .taken
  }

  private mutating func feed(_ bytes: UnsafeBufferPointer<UInt8>) {
    guard !inflation.hasWork, !inflation.isOver, known < bytes.count else { return }
    inflation.feed((firstByte.map { [$0] } ?? []) + bytes[known...])
    firstByte = nil
    known = bytes.count
  }
}
