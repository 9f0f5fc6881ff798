import Glibc
import PosternRuntime
import PosternSupport

/// A connection over a limit: writes the reason once its first bytes show whether it speaks HTTP, or a moment later, ends
/// the write side, reads on for a moment so that the peer sees the reason and no reset, closes.
final class RejectedConnection: ReadinessHandler {
  private let descriptor: CInt
  private let reader: SocketReader
  private let loop: EpollLoop
  private let onClosed: @Sendable () -> Void
  /// The message that is written.
  private let payload: [UInt8]
  /// What has come before it.
  private var first: [UInt8] = []
  private var isAnswered = false
  private var isFinished = false
  private var timer: LoopTimers.ID?

  /// How long a peer has to speak first.
  private static let patience = Duration.milliseconds(100)

  /// Writes `payload`, as one line or as a response of HTTP; without `linger` at once, and the connection is closed right
  /// behind it.
  init(
    _ descriptor: CInt, _ reader: SocketReader, on loop: EpollLoop, payload: [UInt8], linger: Duration?,
    onClosed: @escaping @Sendable () -> Void
  ) {
    self.descriptor = descriptor
    self.reader = reader
    self.loop = loop
    self.onClosed = onClosed
    self.payload = payload + [UInt8(ascii: "\n")]
    guard let linger, !reader.passed.isFull(for: reader.uid),
      (try? loop.watch(descriptor, for: .readable, self)) != nil
    else {
      answer(in: .messages)
      finish()
      return
    }
    timer = loop.schedule(in: min(linger, Self.patience)) {
      self.answer(in: .messages)
      self.timer = loop.schedule(in: linger) { self.finish() }
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
      first += loop.scratch[..<min(count, ProtocolStart.longestMethod + 1)]
      answer(in: ProtocolStart(first))
    }
    guard count == 0 || count < 0 && count != -Int(EAGAIN) else { return }
    answer(in: .messages)
    finish()
  }

  private func answer(in start: ProtocolStart) {
    guard !isAnswered, start != .undecided else { return }
    isAnswered = true
    let bytes =
      start == .http
      ? RejectedHTTPConnection.rejection.response(message: payload, isToHead: first.starts(with: "HEAD ".utf8))
      : payload
    _ = send(descriptor, bytes, bytes.count, CInt(MSG_NOSIGNAL) | CInt(MSG_DONTWAIT))
    shutdown(descriptor, CInt(SHUT_WR))
  }

  private func finish() {
    guard !isFinished else { return }
    isFinished = true
    if let timer { loop.cancel(timer) }
    loop.unwatch(descriptor)
    reader.close(descriptor, onClosed: onClosed)
  }
}
