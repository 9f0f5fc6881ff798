import Glibc
import PosternRuntime
import PosternSupport

/// The socket of one HTTP connection on its event loop. Reads only when the connection wants bytes, and keeps what the
/// kernel does not take yet.
final class HTTPSocket {
  /// Bytes that are read at a time.
  private static let readSize = 16 << 10
  /// Over this many unwritten bytes the client counts as not reading, until there are only `lowWaterMark` left.
  private static let highWaterMark = 128 << 10
  private static let lowWaterMark = 32 << 10
  /// Pieces of at least this many bytes are not copied.
  private static let pieceBytes = 16 << 10
  /// The largest memory that is kept for the next response.
  private static let keptCapacity = 1 << 10

  /// A read of the socket.
  enum Read {
    case bytes(ByteBuffer)
    case end
    /// There are no bytes now.
    case nothing
    /// The connection has failed, or its client has passed too many descriptors.
    case failed
  }

  let loop: EpollLoop
  private let descriptor: CInt
  private let reader: SocketReader
  private var interest: Readiness = [.readable, .peerEnded]
  /// What was written in this iteration of the loop.
  private var output = ByteBuffer()
  /// What the kernel does not take yet.
  private var backlog = SendBacklog()
  private(set) var isOpen = false
  /// Whether the client has finished sending; some of what it sent may be unread.
  private(set) var clientHasEnded = false
  /// Whether the client takes what is sent to it.
  private(set) var isWritable = true

  /// Owns `descriptor` from `open` on.
  init(_ descriptor: CInt, on loop: EpollLoop, _ reader: SocketReader) {
    self.descriptor = descriptor
    self.loop = loop
    self.reader = reader
  }

  func open(_ handler: any ReadinessHandler) throws(EpollError) {
    try loop.watch(descriptor, for: interest, handler)
    isOpen = true
  }

  /// Whether the process that connected has exited, as far as the kernel shows it.
  var peerHasExited: Bool {
    guard isOpen else { return false }
    switch PeerProcess.observe(socket: descriptor) {
    case .unsupported: return false
    case .observable(let process): return !process.isAlive
    case .exited: return true
    }
  }

  /// Closes both directions now; `onClosed` is called when it is done, on any thread.
  func close(_ onClosed: @escaping @Sendable () -> Void) {
    guard isOpen else { return }
    isOpen = false
    (output, backlog) = (ByteBuffer(), SendBacklog())
    loop.unwatch(descriptor)
    reader.close(descriptor, onClosed: onClosed)
  }

  private func watch(_ change: (inout Readiness) -> Void) {
    change(&interest)
    if isOpen { loop.rewatch(descriptor, for: interest) }
  }

  // MARK: - Reading

  /// Whether the loop reports bytes that have come.
  var isReading: Bool {
    get { interest.contains(.readable) }
    set {
      guard newValue != isReading else { return }
      watch { if newValue { $0.insert(.readable) } else { $0.remove(.readable) } }
    }
  }

  /// Reads once, through the loop's buffer, and keeps a copy of exactly the bytes received. Descriptors that came along
  /// are closed on another thread.
  func read() -> Read {
    let buffer = UnsafeMutableRawBufferPointer(rebasing: loop.scratch[..<Self.readSize])
    let outcome = reader.read(descriptor, into: buffer)
    guard outcome.count >= 0 else {
      return [EAGAIN, EWOULDBLOCK].contains(CInt(-outcome.count)) ? .nothing : .failed
    }
    guard outcome.descriptors != nil else { return .failed }
    guard outcome.count > 0 else {
      clientEnds()
      isReading = false
      return .end
    }
    return .bytes(ByteBuffer(Array(UnsafeRawBufferPointer(rebasing: buffer[..<outcome.count]))))
  }

  /// Notes that the client has finished sending, which the loop need not report again.
  func clientEnds() {
    clientHasEnded = true
    if interest.contains(.peerEnded) { watch { $0.remove(.peerEnded) } }
  }

  // MARK: - Writing

  /// How many bytes wait for the client.
  var unwrittenBytes: Int { output.count + backlog.bytes }

  /// Keeps bytes for the next `flush`.
  func write(_ bytes: [UInt8]) {
    if bytes.count < Self.pieceBytes {
      output.append(bytes)
    } else {
      backlog.append([OutboundPiece(bytes: output), OutboundPiece(bytes: ByteBuffer(bytes))])
      output = ByteBuffer()
    }
    if unwrittenBytes > Self.highWaterMark { isWritable = false }
  }

  /// Sends what the kernel takes; false when the connection has failed.
  func flush() -> Bool {
    if !output.isEmpty {
      if backlog.isEmpty {
        let sent = SendBacklog.send(output, to: descriptor)
        if sent > 0 { output.removeFirst(sent) }
      }
      if output.isEmpty {
        // A large buffer is not kept: the next response may be far off.
        if output.capacity <= Self.keptCapacity { output.removeAll() } else { output = ByteBuffer() }
      } else {
        backlog.append([OutboundPiece(bytes: output)])
        output = ByteBuffer()
      }
    }
    // An error of the send above occurs again here.
    if !backlog.isEmpty, backlog.write(to: descriptor, reader) != 0 { return false }
    if unwrittenBytes <= Self.lowWaterMark { isWritable = true }
    if backlog.isEmpty == interest.contains(.writable) {
      watch { if backlog.isEmpty { $0.remove(.writable) } else { $0.insert(.writable) } }
    }
    return true
  }

  /// Ends what this side sends.
  func endOutput() { if isOpen { shutdown(descriptor, CInt(SHUT_WR)) } }
}
