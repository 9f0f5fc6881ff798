extension UnsafeRawBufferPointer {
  /// The start as OpenSSL wants it; an empty buffer has none, which OpenSSL takes with length 0.
  var bytes: UnsafePointer<UInt8>? { baseAddress?.assumingMemoryBound(to: UInt8.self) }
}
