import CPosternLinux
import Glibc
import PosternSupport

/// A pipe of this process's own between memory and a passed pipe. Only splice(2) does not wait for the other end when
/// the file status flags, which the caller shares, permit blocking.
final class OwnPipe: Sendable {
  private let input: CInt
  private let output: CInt
  /// How many bytes are in it.
  private let content = Locked(0)

  /// - Throws: when the process has no descriptors left.
  init() throws(DescriptorError) {
    var ends: (CInt, CInt) = (-1, -1)
    let code = withUnsafeMutableBytes(of: &ends) { clinux_pipe($0.assumingMemoryBound(to: CInt.self).baseAddress) }
    guard code == 0 else { throw .exhausted }
    (output, input) = ends
  }

  deinit {
    close(input)
    close(output)
  }

  /// Moves bytes to `descriptor`: the number of them, or the negative error number, EAGAIN when its pipe is full.
  func write(_ bytes: [UInt8], from start: Int, to descriptor: PassedDescriptor) -> Int {
    var filled = content.withLock { $0 }
    if filled == 0 {
      filled = bytes.withUnsafeBytes { Glibc.write(input, $0.baseAddress.map { $0 + start }, $0.count - start) }
      guard filled > 0 else { return filled == 0 ? 0 : -Int(errno) }
    }
    let moved = clinux_move(output, descriptor.number, filled)
    content.withLock { $0 = filled - max(0, moved) }
    return moved
  }

  /// Moves bytes from `descriptor` into `buffer`: their number, 0 at the end, or the negative error number.
  func read(into buffer: UnsafeMutableRawBufferPointer, from descriptor: PassedDescriptor) -> Int {
    let moved = clinux_move(descriptor.number, input, buffer.count)
    guard moved > 0 else { return moved }
    // A pipe of packets gives one packet for each read.
    var read = 0
    while read < moved {
      let count = Glibc.read(output, buffer.baseAddress.map { $0 + read }, moved - read)
      guard count > 0 else { return count < 0 ? -Int(errno) : -Int(EIO) }
      read += count
    }
    return read
  }
}
