import Glibc

/// The bytes of one secret, in `SecretMemory`: overwritten when the last reference goes.
public final class SecretBytes: @unchecked Sendable {
  // Sendable because the bytes are written in init and overwritten in deinit only.
  private let buffer: UnsafeMutableRawBufferPointer
  private let block: SecretBlock?

  /// A copy of `bytes`.
  public init(copying bytes: UnsafeRawBufferPointer) {
    guard !bytes.isEmpty else {
      buffer = UnsafeMutableRawBufferPointer(start: nil, count: 0)
      block = nil
      return
    }
    let (block, address) = SecretMemory.take(bytes.count)
    buffer = UnsafeMutableRawBufferPointer(start: address, count: bytes.count)
    buffer.copyMemory(from: bytes)
    self.block = block
  }

  deinit {
    guard let block, let address = buffer.baseAddress else { return }
    explicit_bzero(address, buffer.count)
    SecretMemory.give(back: address, buffer.count, of: block)
  }

  /// How many they are.
  public var count: Int { buffer.count }

  /// Lends the bytes to `body`, which must not keep them.
  public func withUnsafeBytes<Result, Failure: Error>(
    _ body: (UnsafeRawBufferPointer) throws(Failure) -> Result
  ) throws(Failure) -> Result {
    try withExtendedLifetime(self) { () throws(Failure) in try body(UnsafeRawBufferPointer(buffer)) }
  }
}
