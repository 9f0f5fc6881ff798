/// The input of one connection that was not delivered yet: bytes as they were read, and the events of those that were
/// framed.
///
/// Bytes are framed a bounded piece at a time: finding messages in them takes time, as handling them does, and counts
/// for the connection's share of the event loop.
struct InboundBacklog: Sendable {
  /// How many bytes are framed at a time.
  static let pieceBytes = 16 << 10

  private(set) var framer: InboundFramer
  /// How many bytes were read and not framed.
  private(set) var unframedBytes = 0
  private var reads: [ByteBuffer] = []
  private var events: [InboundEvent] = []
  private var deliveredCount = 0

  init(_ framer: InboundFramer) { self.framer = framer }

  /// Sets the most bytes that a message may have from now on; nil: as many as the server allows.
  mutating func limitMessages(to bytes: Int?) { framer.limitMessages(to: bytes) }

  /// Whether there is something to deliver.
  var hasEvents: Bool { deliveredCount < events.count }

  /// Whether everything was framed and delivered.
  var isEmpty: Bool { unframedBytes == 0 && !hasEvents }

  /// How many bytes are kept, those of an unfinished message included.
  var keptBytes: Int { framer.message.collectedBytes + unframedBytes }

  /// Takes the bytes of one read.
  mutating func add(_ bytes: ByteBuffer) {
    guard bytes.count > 0 else { return }
    unframedBytes += bytes.count
    reads.append(bytes)
  }

  /// Frames the next piece, up to `limit` events; false when there was none, or there are events to deliver first.
  @discardableResult
  mutating func frame(atMost limit: Int) -> Bool {
    guard !hasEvents, let read = reads.first else { return false }
    let length = min(read.count, Self.pieceBytes)
    let piece = read.window(0..<length)
    let taken = framer.receive(MessageBytes(piece), into: &events, upTo: limit)
    unframedBytes -= taken
    if taken == read.count {
      reads.removeFirst()
    } else {
      reads[0].removeFirst(taken)
    }
    return true
  }

  /// The next events, none behind a long text: it may be handled elsewhere, and they wait for that. `didDeliver` must
  /// follow.
  mutating func take(atMost limit: Int) -> [InboundEvent] {
    let next = events[deliveredCount...].prefix(limit)
    let group = next.firstIndex(where: \.isLong).map { next[...$0] } ?? next
    deliveredCount += group.count
    return group.count == events.count ? events : Array(group)
  }

  /// How many bytes the long text has with which the last group ended; 0 when it ended with none.
  var longBytesTaken: Int {
    guard deliveredCount > 0, events[deliveredCount - 1].isLong else { return 0 }
    return events[deliveredCount - 1].byteCount
  }

  /// The events that were taken are handled: releases their bytes.
  mutating func didDeliver() {
    guard !hasEvents else { return }
    events.removeAll(keepingCapacity: true)
    deliveredCount = 0
  }

  /// The peer has half-closed; what a message cut off comes to is an event once all bytes are framed.
  mutating func end() {
    guard unframedBytes == 0 else { return }
    framer.end(into: &events)
  }

  /// Gives up the current message and all that came after it, for more than `limit` bytes are kept.
  mutating func giveUp(limit: Int) {
    (reads, unframedBytes) = ([], 0)
    framer.abandon()
    events.append(.crowded(limit: limit))
  }

  /// Drops all of it.
  mutating func drop() {
    (reads, unframedBytes) = ([], 0)
    (events, deliveredCount) = ([], 0)
  }
}
