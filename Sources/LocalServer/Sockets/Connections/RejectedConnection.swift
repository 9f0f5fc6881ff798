import Glibc
import PosternRuntime
import PosternSupport

/// A connection over a limit: writes the reason, ends the write side, reads on for a moment so that the peer sees the
/// reason and no reset, closes.
final class RejectedConnection: ReadinessHandler {
  private let descriptor: CInt
  private let reader: SocketReader
  private let loop: EpollLoop
  private let onClosed: @Sendable () -> Void
  private var isFinished = false
  private var timer: LoopTimers.ID?

  /// Writes `payload` as one line; without `linger` the connection is closed right behind it.
  init(
    _ descriptor: CInt, _ reader: SocketReader, on loop: EpollLoop, payload: [UInt8], linger: Duration?,
    onClosed: @escaping @Sendable () -> Void
  ) {
    self.descriptor = descriptor
    self.reader = reader
    self.loop = loop
    self.onClosed = onClosed
    let line = payload + [UInt8(ascii: "\n")]
    _ = send(descriptor, line, line.count, CInt(MSG_NOSIGNAL) | CInt(MSG_DONTWAIT))
    guard let linger, !reader.passed.isFull(for: reader.uid), shutdown(descriptor, CInt(SHUT_WR)) == 0,
      (try? loop.watch(descriptor, for: .readable, self)) != nil
    else {
      finish()
      return
    }
    timer = loop.schedule(in: linger) { self.finish() }
  }

  /// The loop ended first.
  deinit {
    if !isFinished { reader.close(descriptor, onClosed: onClosed) }
  }

  func ready(_ readiness: Readiness) {
    guard !readiness.contains(.hungUp) else { return finish() }
    let count = reader.read(descriptor, into: loop.scratch).count
    if count == 0 || count < 0 && count != -Int(EAGAIN) { finish() }
  }

  private func finish() {
    guard !isFinished else { return }
    isFinished = true
    if let timer { loop.cancel(timer) }
    loop.unwatch(descriptor)
    reader.close(descriptor, onClosed: onClosed)
  }
}
