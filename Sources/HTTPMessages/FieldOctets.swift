import PosternSupport

/// Field values as bytes (RFC 9110 section 5.5): what is passed on arrives as it came, in whatever character set.
///
/// In this process they are texts. A value that is not UTF-8 is one with a private character for each byte beyond ASCII,
/// which survives trimming, splitting and joining, and becomes that byte again when the value is sent. No rule about
/// values sees anything but characters that are none of ASCII's.
package enum FieldOctets {
  /// The character for the byte 0; those for 0x80 to 0xFF are used, at the end of the last private plane.
  private static let base: UInt32 = 0x10_FF00
  /// The first byte of these characters in UTF-8.
  private static let lead: UInt8 = 0xF4

  /// The text of a value with these bytes.
  package static func text(_ bytes: UnsafeBufferPointer<UInt8>) -> String {
    if bytes.allSatisfy({ $0 < 0x80 }) { return String(decoding: bytes, as: UTF8.self) }
    if let text = String(validating: bytes, as: UTF8.self), !standsForBytes(text) { return text }
    var text = String.UnicodeScalarView()
    for byte in bytes { text.append(byte < 0x80 ? Unicode.Scalar(byte) : scalar(byte)) }
    return String(text)
  }

  /// The bytes of a value with this text.
  package static func bytes(_ text: String) -> [UInt8] {
    guard standsForBytes(text) else { return Array(text.utf8) }
    var bytes: [UInt8] = []
    bytes.reserveCapacity(text.utf8.count)
    for scalar in text.unicodeScalars {
      guard let byte = byte(scalar) else {
        bytes += UTF8.encode(scalar) ?? UTF8.encodedReplacementCharacter
        continue
      }
      bytes.append(byte)
    }
    return bytes
  }

  /// The bytes of a value with this text in UTF-8, where they are others.
  package static func octets(_ text: UnsafeBufferPointer<UInt8>) -> [UInt8]? {
    // Of nearly all values this is all that is looked at.
    guard text.contains(lead) else { return nil }
    let text = String(decoding: text, as: UTF8.self)
    return standsForBytes(text) ? bytes(text) : nil
  }

  /// Whether the text has characters that stand for bytes.
  package static func standsForBytes(_ text: String) -> Bool {
    text.utf8.contains(lead) && text.unicodeScalars.contains { byte($0) != nil }
  }

  private static func scalar(_ byte: UInt8) -> Unicode.Scalar { Unicode.Scalar(base + UInt32(byte)) ?? "\u{FFFD}" }

  private static func byte(_ scalar: Unicode.Scalar) -> UInt8? {
    guard scalar.value >= base + 0x80, scalar.value <= base + 0xFF else { return nil }
    return UInt8(scalar.value - base)
  }
}
