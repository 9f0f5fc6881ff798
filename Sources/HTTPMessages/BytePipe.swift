/// Bytes on their way from one writer to one reader, in order.
///
/// The writer stops when the pipe `isFull`, and may then hold one piece more than the window. A value without locks
/// and waiters: it belongs to the state of an owner who resumes whoever waits.
struct BytePipe {
  private let window: Int
  private var pieces: ArraySlice<[UInt8]> = []
  /// How many bytes of the first piece were read.
  private var taken = 0

  /// The number of bytes that were written and not read.
  private(set) var count = 0
  /// The end; nil while more bytes may come.
  private(set) var end: TransferControl.BodyEnd?

  /// An empty pipe that is full from `window` bytes on.
  init(window: Int) { self.window = window }

  /// Whether the writer should stop.
  var isFull: Bool { count >= window }

  /// Whether a reader would get bytes, or the end.
  var isReadable: Bool { count > 0 || end != nil }

  // MARK: - The writer

  /// Adds a piece. Ignored after the end.
  mutating func write(_ piece: [UInt8]) {
    guard end == nil, !piece.isEmpty else { return }
    pieces.append(piece)
    count += piece.count
  }

  /// Adds a copy of `bytes`, to the last piece if that has at most `pieceBytes` bytes then. Ignored after the end.
  mutating func write(_ bytes: UnsafeBufferPointer<UInt8>, joiningUpTo pieceBytes: Int) {
    guard end == nil, !bytes.isEmpty else { return }
    count += bytes.count
    if let last = pieces.indices.last, pieces[last].count + bytes.count <= pieceBytes {
      return pieces[last].append(contentsOf: bytes)
    }
    pieces.append(Array(bytes))
  }

  /// Ends the pipe; only the first end counts. What was written before can still be read.
  mutating func finish(_ end: TransferControl.BodyEnd) { if self.end == nil { self.end = end } }

  // MARK: - The reader

  /// Takes the next piece, if any.
  mutating func read() -> [UInt8]? {
    guard let piece = pieces.popFirst() else { return nil }
    let rest = taken == 0 ? piece : Array(piece[taken...])
    taken = 0
    count -= rest.count
    return rest
  }

  /// Moves the next bytes into `buffer`; returns how many.
  mutating func read(into buffer: UnsafeMutableRawBufferPointer) -> Int {
    var moved = 0
    while moved < buffer.count, let piece = pieces.first {
      let length = min(buffer.count - moved, piece.count - taken)
      piece.withUnsafeBytes { bytes in
        UnsafeMutableRawBufferPointer(rebasing: buffer[moved..<moved + length])
          .copyMemory(from: UnsafeRawBufferPointer(rebasing: bytes[taken..<taken + length]))
      }
      (moved, taken) = (moved + length, taken + length)
      if taken == piece.count {
        pieces.removeFirst()
        taken = 0
      }
    }
    count -= moved
    return moved
  }
}
