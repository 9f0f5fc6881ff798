public import PosternSupport

extension TransferControl {
  /// A request's body on its way from its source to the transport.
  struct BodyUpload {
    var pipe = BytePipe(window: TransferControl.window)
    /// Whether the transport has taken anything since the upload began.
    var hasBegun = false
    /// The source, which waits for capacity.
    var source: CheckedContinuation<Bool, Never>?
  }

  /// How a body ends.
  public enum BodyEnd: Sendable {
    /// All of it was read.
    case complete
    /// It cannot be read to its end: the request must not pass for complete.
    case failed
  }

  /// The next part of a request's body, for the transport.
  public enum UploadRead: Sendable {
    /// So many bytes; none at the end.
    case bytes(Int)
    /// None yet; the transport is woken when there are some.
    case waiting
    /// The body cannot be read.
    case failed
  }
}

extension TransferControl.UploadRead: ConciseStringConvertible {
  /// The number of bytes, or why there are none.
  public var description: String {
    switch self {
    case .bytes(let count): Concise.count(count, "byte")
    case .waiting: "waiting"
    case .failed: "failed"
    }
  }
}

extension TransferControl: ConciseStringConvertible {
  /// The progress.
  public var description: String { "\(progress)" }
}

extension TransferControl.Progress: ConciseStringConvertible {
  /// Bytes in both directions.
  public var description: String { "\(Concise.count(sent, "byte")) sent, \(Concise.count(received, "byte")) received" }
}

extension TransferControl.Part: ConciseStringConvertible {
  /// The head, or the size of the piece.
  public var description: String {
    switch self {
    case .head(let head): "\(head)"
    case .piece(let bytes): "a piece of \(Concise.count(bytes.count, "byte"))"
    }
  }
}
