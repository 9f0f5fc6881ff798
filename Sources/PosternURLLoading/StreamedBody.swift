import AuthEngine
import Foundation
import PosternSupport

/// The body of a request in a stream of Foundation's: read to its end at first, so that the request can be repeated; a
/// long one is read while it is sent.
///
/// `@unchecked`: one thread at a time reads the stream, each of them its own, as a stream may block its reader for any
/// time.
final class StreamedBody: @unchecked Sendable {
  /// The largest body that is held: that of the largest message to the sidecar.
  private static let heldBytes = 16 << 20
  private static let pieceBytes = 1 << 20
  private static let fault = "the body cannot be read"

  private let stream: InputStream
  /// What was read before the request.
  private let held = Locked(Data())

  init(_ stream: InputStream) { self.stream = stream }

  deinit { stream.close() }

  /// Reads the body as far as it is held; nil for a longer one, whose `supply` has all of it.
  func whole() throws(URLError) -> Data? {
    stream.open()
    var contents = Data()
    while contents.count <= Self.heldBytes {
      guard let piece = read() else { throw URLError(.requestBodyStreamExhausted, detail: Self.fault) }
      guard !piece.isEmpty else { return contents }
      contents.append(contentsOf: piece)
    }
    held.withLock { $0 = contents }
    return nil
  }

  /// All of a long body. `length` is what the request states.
  func supply(length: Int64?) -> BodySupply {
    BodySupply(length: length) { [self] in
      let first = held.withLock { held in
        defer { held = Data() }
        return held
      }
      guard first.isEmpty else { return .bytes(Array(first)) }
      return await withUnsafeContinuation { continuation in
        Thread.detachNewThread { [self] in
          continuation.resume(returning: read().map { .bytes($0) } ?? .failed(Self.fault))
        }
      }
    }
  }

  /// The next bytes, none at the end; nil where they cannot be read.
  private func read() -> [UInt8]? {
    var buffer = [UInt8](repeating: 0, count: Self.pieceBytes)
    let count = stream.read(&buffer, maxLength: buffer.count)
    return count < 0 ? nil : Array(buffer[..<count])
  }
}
