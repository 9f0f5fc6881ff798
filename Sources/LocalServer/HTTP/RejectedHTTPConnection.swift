import Glibc
import PosternRuntime
import PosternSupport

/// A connection over a limit: gets its response as soon as its method is known, and is closed.
final class RejectedHTTPConnection: ReadinessHandler {
  static let rejection = RequestRejection("there are too many connections", status: 503, .overloaded)

  private let descriptor: CInt
  private let reader: SocketReader
  private let loop: EpollLoop
  private let traceID: String
  private let onClosed: @Sendable () -> Void
  private var method = RejectedMethod()
  private var isAnswered = false
  private var isFinished = false
  private var timer: LoopTimers.ID?

  /// Without `linger` the connection is closed at once.
  init(
    _ descriptor: CInt, _ reader: SocketReader, on loop: EpollLoop, linger: Duration?, traceID: String,
    onClosed: @escaping @Sendable () -> Void
  ) {
    self.descriptor = descriptor
    self.reader = reader
    self.loop = loop
    self.traceID = traceID
    self.onClosed = onClosed
    guard let linger, (try? loop.watch(descriptor, for: .readable, self)) != nil else {
      write(Self.rejection.responseWithoutBody)
      finish()
      return
    }
    timer = loop.schedule(in: linger) {
      self.answer()
      self.finish()
    }
  }

  /// The loop ended first.
  deinit {
    if !isFinished { reader.close(descriptor, onClosed: onClosed) }
  }

  func ready(_ readiness: Readiness) {
    guard !readiness.contains(.hungUp) else { return finish() }
    let count = reader.read(descriptor, into: loop.scratch).count
    if count > 0, !isAnswered {
      method.read(loop.scratch[..<count])
      if method.isKnown { answer() }
    }
    guard count == 0 || count < 0 && count != -Int(EAGAIN) else { return }
    answer()
    finish()
  }

  /// To close with unread bytes would discard the response on its way: the rest is read.
  private func answer() {
    guard !isAnswered else { return }
    isAnswered = true
    write(Self.rejection.response(isToHead: method.isHead, traceID: traceID))
    shutdown(descriptor, CInt(SHUT_WR))
  }

  private func write(_ bytes: [UInt8]) { _ = SendBacklog.send(ByteBuffer(bytes), to: descriptor) }

  private func finish() {
    guard !isFinished else { return }
    isFinished = true
    if let timer { loop.cancel(timer) }
    loop.unwatch(descriptor)
    reader.close(descriptor, onClosed: onClosed)
  }
}

/// The beginning of a request that is not read any further.
struct RejectedMethod: Sendable {
  private static let head = Array("HEAD ".utf8)

  private var bytes: [UInt8] = []
  /// Whether it can be told from `HEAD`.
  private(set) var isKnown = false

  /// Whether the method is `HEAD`.
  var isHead: Bool { bytes == Self.head }

  /// Reads the next bytes. An empty line may come first, as in `RequestGuard`.
  mutating func read(_ more: some Sequence<UInt8>) {
    for byte in more where !isKnown {
      if bytes.isEmpty, byte == 0x0D || byte == 0x0A { continue }
      bytes.append(byte)
      isKnown = isHead || !Self.head.starts(with: bytes)
    }
  }
}
