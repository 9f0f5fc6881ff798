extension String {
  /// Whether both hold the same ASCII letters, case aside. Names of media types are compared so (RFC 6838 section 4.2).
  func hasSameASCIILetters(as other: some StringProtocol) -> Bool {
    utf8.elementsEqual(other.utf8) { Self.lowercased($0) == Self.lowercased($1) }
  }

  private static func lowercased(_ byte: UInt8) -> UInt8 {
    (UInt8(ascii: "A")...UInt8(ascii: "Z")).contains(byte) ? byte | 0x20 : byte
  }
}
