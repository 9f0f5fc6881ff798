import CPosternOpenSSL

/// Random bytes from OpenSSL's generator, which the kernel seeds.
public enum SecureRandom {
  /// `count` unpredictable bytes. Traps when the machine has no randomness: nothing safe can be done then.
  public static func bytes(_ count: Int) -> [UInt8] {
    guard count > 0 else { return [] }
    return [UInt8](unsafeUninitializedCapacity: count) { buffer, used in
      let succeeded = ErrorQueue.discarding { Int32(exactly: count).map { RAND_bytes(buffer.baseAddress, $0) } == 1 }
      precondition(succeeded, "no randomness")
      used = count
    }
  }
}
