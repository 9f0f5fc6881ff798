/// Bytes that are added at the end and removed at the beginning. A window shares its memory with the buffer that it is
/// of, until either of them changes.
struct ByteBuffer: Sendable {
  private var storage: [UInt8]
  /// The place of the first byte.
  private var start: Int
  /// The place behind the last byte.
  private var end: Int

  /// No bytes.
  init() { (storage, start, end) = ([], 0, 0) }

  /// The bytes of an array, which is not copied.
  init(_ bytes: [UInt8]) { (storage, start, end) = (bytes, 0, bytes.count) }

  /// A copy of `bytes`.
  init(_ bytes: some Sequence<UInt8>) { self.init(Array(bytes)) }

  /// How many bytes there are.
  var count: Int { end - start }

  var isEmpty: Bool { start == end }

  /// The bytes of memory that they occupy, removed ones included.
  var capacity: Int { storage.capacity }

  /// The bytes, without a copy if none was removed.
  var bytes: [UInt8] { start == 0 && end == storage.count ? storage : Array(storage[start..<end]) }

  /// Calls `body` with the bytes; the pointer is good until it returns.
  func withUnsafeBytes<Result>(_ body: (UnsafeRawBufferPointer) throws -> Result) rethrows -> Result {
    try storage.withUnsafeBytes { try body(UnsafeRawBufferPointer(rebasing: $0[start..<end])) }
  }

  /// The bytes of `range`, counted from the first one, without a copy.
  func window(_ range: Range<Int>) -> ByteBuffer {
    precondition(range.lowerBound >= 0 && range.upperBound <= count)
    var window = self
    (window.start, window.end) = (start + range.lowerBound, start + range.upperBound)
    return window
  }

  /// Makes place for `more` bytes.
  mutating func reserve(_ more: Int) {
    prepareToGrow()
    // As an array grows by itself: a message that comes in many pieces must not be copied with each of them.
    if storage.capacity < end + more { storage.reserveCapacity(max(end + more, 2 * storage.count)) }
  }

  mutating func append(_ bytes: UnsafeRawBufferPointer) {
    prepareToGrow()
    storage.append(contentsOf: bytes)
    end = storage.count
  }

  /// Appends `bytes` and `last`, growing once at most.
  mutating func append(_ bytes: UnsafeRawBufferPointer, endingWith last: UInt8) {
    reserve(bytes.count + 1)
    storage.append(contentsOf: bytes)
    storage.append(last)
    end = storage.count
  }

  mutating func append(_ bytes: some Sequence<UInt8>) {
    prepareToGrow()
    storage.append(contentsOf: bytes)
    end = storage.count
  }

  mutating func append(_ other: ByteBuffer) { other.withUnsafeBytes { append($0) } }

  /// Removes that number of bytes from the beginning. Their memory is reused once the buffer is empty.
  mutating func removeFirst(_ removed: Int) {
    precondition(removed >= 0 && removed <= count)
    start += removed
  }

  /// Removes all bytes, and keeps their memory for the next ones.
  mutating func removeAll() {
    storage.removeAll(keepingCapacity: true)
    (start, end) = (0, 0)
  }

  /// What is added goes behind the last byte: bytes of the array behind this window go, and, where they are the larger
  /// part of it, those that were removed.
  private mutating func prepareToGrow() {
    if end < storage.count {
      storage = Array(storage[start..<end])
      (start, end) = (0, storage.count)
    } else if start > 0, start * 2 >= end {
      storage.removeFirst(start)
      (start, end) = (0, storage.count)
    }
  }
}

extension ByteBuffer: Hashable {
  /// Whether they have the same bytes.
  static func == (left: ByteBuffer, right: ByteBuffer) -> Bool {
    left.storage[left.start..<left.end] == right.storage[right.start..<right.end]
  }

  func hash(into hasher: inout Hasher) { withUnsafeBytes { hasher.combine(bytes: $0) } }
}
