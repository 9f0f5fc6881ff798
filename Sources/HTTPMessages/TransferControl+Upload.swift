public import PosternSupport

extension TransferControl {
  /// A request's body on its way from its source to the transport.
  struct BodyUpload {
    var pieces: ArraySlice<[UInt8]> = []
    /// How much of the first piece the transport has.
    var taken = 0
    var waitingBytes = 0
    var end: UploadEnd?
    /// Whether the transport has taken anything since the upload began.
    var hasBegun = false
    /// The source, which waits for capacity.
    var source: CheckedContinuation<Bool, Never>?

    var isFull: Bool { waitingBytes >= TransferControl.window }

    mutating func takeSource() -> CheckedContinuation<Bool, Never>? {
      defer { source = nil }
      return source
    }

    /// Copies the next bytes; their number.
    mutating func move(into buffer: UnsafeMutableRawBufferPointer) -> Int {
      var count = 0
      while count < buffer.count, let piece = pieces.first {
        let length = min(buffer.count - count, piece.count - taken)
        piece.withUnsafeBytes { bytes in
          UnsafeMutableRawBufferPointer(rebasing: buffer[count..<count + length])
            .copyMemory(from: UnsafeRawBufferPointer(rebasing: bytes[taken..<taken + length]))
        }
        (count, taken) = (count + length, taken + length)
        if taken == piece.count {
          pieces.removeFirst()
          taken = 0
        }
      }
      waitingBytes -= count
      return count
    }
  }

  /// How the source of a request's body has ended.
  public enum UploadEnd: Sendable {
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
