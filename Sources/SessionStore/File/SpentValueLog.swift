import Glibc
import PosternSupport
import SessionRecords

/// The uses of a file store's process and of those before it: in memory, and in two files to which each use is added
/// before it is answered. A process that is killed loses none; a loss of power loses the last ones, in less time than a
/// start takes.
///
/// There are two files so that none has to be rewritten: one whose records have all expired is emptied and becomes the
/// current one. A record has the identity, the expiry, the share and a check value; a torn one at the end, of a full
/// disk, is overwritten.
final class SpentValueLog: Sendable {
  private static let names = ["spent-1.log", "spent-2.log"]
  private static let recordByteCount = 36
  /// The records in a file before the other one is emptied.
  private static let exchangeCount = 4096
  /// The records that are read in one piece.
  private static let page = 8192

  private struct Segment {
    let file: FileDescriptor
    var count = 0
    /// When its last record has expired.
    var end = Timestamp(millisecondsSinceEpoch: .min)
  }

  private struct State {
    var values: SpentValues
    var current: Segment
    var other: Segment
  }

  private enum Phase {
    /// Nothing has been used so far: there may be no files.
    case unread(StoreDirectory)
    case read(State)
    case closed
  }

  private let phase: Locked<Phase>
  private let capacity: Int

  /// The uses in `directory`, whose files are read, and made, with the first one.
  init(in directory: StoreDirectory, capacity: Int = SpentValues.defaultCapacity) {
    phase = Locked(.unread(directory))
    self.capacity = capacity
  }

  /// Closes the files, and lets the directory go.
  func close() { phase.withLock { $0 = .closed } }

  /// Records a use; see `RecordStore.spend`.
  func spend(
    _ value: SpentValues.Identity, by share: SpendingShare, until expiry: Timestamp, at now: Timestamp
  ) throws(StoreError) -> Bool {
    try phase.withLock { phase throws(StoreError) in
      var state = try opened(phase)
      // The values are in one place at a time, so that none of them is copied.
      phase = .closed
      defer { phase = .read(state) }
      return try Self.spend(value, share, expiry, now, &state)
    }
  }

  private func opened(_ phase: Phase) throws(StoreError) -> State {
    switch phase {
    case .read(let state): return state
    case .closed: throw StoreError(.unavailable, "the store is closed")
    case .unread(let directory):
      var values = SpentValues(capacity: capacity)
      let first = try Self.read(Self.names[0], in: directory, into: &values)
      let second = try Self.read(Self.names[1], in: directory, into: &values)
      let isFirst = first.end >= second.end
      return State(values: values, current: isFirst ? first : second, other: isFirst ? second : first)
    }
  }

  private static func spend(
    _ value: SpentValues.Identity, _ share: SpendingShare, _ expiry: Timestamp, _ now: Timestamp, _ state: inout State
  ) throws(StoreError) -> Bool {
    guard try state.values.spend(value, by: share, until: expiry, at: now) else { return false }
    if state.current.count >= exchangeCount, state.other.end < now {
      guard ftruncate(state.other.file.number, 0) == 0 else { throw failure(value, &state) }
      (state.current, state.other) = (Segment(file: state.other.file), state.current)
    }
    let record = record(value, share, expiry)
    guard state.current.file.write(record, at: state.current.count * recordByteCount) else {
      throw failure(value, &state)
    }
    state.current.count += 1
    state.current.end = max(state.current.end, expiry)
    return true
  }

  /// Nothing has been answered, so that the value may be tried again.
  private static func failure(_ value: SpentValues.Identity, _ state: inout State) -> StoreError {
    let code = errno
    state.values.remove(value)
    return StoreError(.unavailable, "cannot write the log of used values: \(SystemError.text(code))")
  }

  private static func record(_ value: SpentValues.Identity, _ share: SpendingShare, _ expiry: Timestamp) -> [UInt8] {
    let body = value.bytes + bytes(expiry.millisecondsSinceEpoch) + bytes(share.uid) + bytes(share.part)
    return body + bytes(checkValue(body[...]))
  }

  private static func bytes(_ number: some FixedWidthInteger) -> [UInt8] {
    withUnsafeBytes(of: number.littleEndian) { Array($0) }
  }

  /// FNV-1a: it finds what is no record. There is no protection from a program that can write the file.
  private static func checkValue(_ bytes: ArraySlice<UInt8>) -> UInt32 {
    bytes.reduce(2_166_136_261) { ($0 ^ UInt32($1)) &* 16_777_619 }
  }

  private static func read(
    _ name: String, in directory: StoreDirectory, into values: inout SpentValues
  ) throws(StoreError) -> Segment {
    var segment = Segment(file: try directory.open(name, O_RDWR | O_CREAT))
    var buffer = [UInt8](repeating: 0, count: page * recordByteCount)
    while true {
      let offset = off_t(segment.count * recordByteCount)
      let read = buffer.withUnsafeMutableBytes { pread(segment.file.number, $0.baseAddress, $0.count, offset) }
      guard read >= 0 else {
        if errno == EINTR { continue }
        throw StoreError(.unavailable, "cannot read \(directory.path(of: name)): \(SystemError.text(errno))")
      }
      let count = read / recordByteCount
      guard count > 0 else { return segment }
      for index in 0..<count {
        let record = buffer[index * recordByteCount..<(index + 1) * recordByteCount]
        // A loss of power leaves pages of zeros.
        guard let (value, share, expiry) = parts(of: record) else { continue }
        values.restore(value, by: share, until: expiry)
        segment.end = max(segment.end, expiry)
      }
      segment.count += count
    }
  }

  private static func parts(
    of record: ArraySlice<UInt8>
  ) -> (value: SpentValues.Identity, share: SpendingShare, expiry: Timestamp)? {
    let body = record.dropLast(4)
    guard record.suffix(4).elementsEqual(bytes(checkValue(body))),
      let value = SpentValues.Identity(Array(body.prefix(16)))
    else { return nil }
    return record.withUnsafeBytes { bytes in
      let expiry = Int64(littleEndian: bytes.loadUnaligned(fromByteOffset: 16, as: Int64.self))
      let uid = UInt32(littleEndian: bytes.loadUnaligned(fromByteOffset: 24, as: UInt32.self))
      let part = UInt32(littleEndian: bytes.loadUnaligned(fromByteOffset: 28, as: UInt32.self))
      return (value, SpendingShare(uid: uid, part: part), Timestamp(millisecondsSinceEpoch: expiry))
    }
  }
}
