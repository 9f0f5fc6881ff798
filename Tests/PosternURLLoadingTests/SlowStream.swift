import Foundation
import PosternSupport

/// A body whose reader waits until the test lets it go on.
final class SlowStream: InputStream {
  /// The test's end of it.
  final class Source: Sendable {
    private let state: Locked<(isRead: Bool, left: [UInt8])>
    private let gate = DispatchSemaphore(value: 0)

    init(_ text: String) { state = Locked((false, Array(text.utf8))) }

    /// Whether a reader waits for the bytes.
    var isRead: Bool { state.withLock { $0.isRead } }

    /// Lets it be read to its end.
    func release() {
      gate.signal()
      gate.signal()
    }

    fileprivate func next(atMost length: Int) -> [UInt8] {
      state.withLock { $0.isRead = true }
      gate.wait()
      return state.withLock { state in
        let piece = Array(state.left.prefix(length))
        state.left.removeFirst(piece.count)
        return piece
      }
    }
  }

  private var source: Source?

  convenience init(_ source: Source) {
    self.init(data: Data())
    self.source = source
  }

  override func open() {}
  override func close() {}
  override var hasBytesAvailable: Bool { true }

  override func read(_ buffer: UnsafeMutablePointer<UInt8>, maxLength length: Int) -> Int {
    let piece = source?.next(atMost: length) ?? []
    for (index, byte) in piece.enumerated() { buffer[index] = byte }
    return piece.count
  }
}
