import NIOCore

extension EventLoopFuture {
  /// Waits until this has come to an end, whichever. Not `get()`: ThreadSanitizer does not see how that hands over, and
  /// reports a race where the end comes at once.
  func ended() async {
    let (ends, end) = AsyncStream.makeStream(of: Void.self)
    whenComplete { _ in end.finish() }
    for await _ in ends {}
  }
}
