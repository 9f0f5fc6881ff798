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

  /// Nil for what is not undone here.
  init?(_ codings: [String]) {
    guard codings.count == 1, let inflation = Inflation(codings[0]) else { return nil }
    self.inflation = inflation
  }

  /// Whether the coding has come to its own end. No bytes are no body, whatever coding is named.
  var isComplete: Bool { isEmpty || inflation.isOver }

  /// Undoes a piece of `bytes`, which begin with those that were offered before and not taken. Calls `give` with it.
  mutating func undo(_ bytes: UnsafeBufferPointer<UInt8>, give: (UnsafeBufferPointer<UInt8>) -> Void) -> Progress {
    isEmpty = false
    if !inflation.hasWork, known < bytes.count, !inflation.isOver {
      inflation.feed(Array(bytes[known...]))
      known = bytes.count
    }
    if inflation.hasWork {
      guard let piece = try? inflation.step() else { return .broken }
      if !piece.isEmpty { piece.withUnsafeBufferPointer(give) }
    }
    guard !inflation.hasWork else { return .more }
    known = max(0, known - bytes.count)
    return .taken
  }
}
