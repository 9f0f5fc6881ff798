/// Hexadecimal digits and text. What it writes has lower-case digits; what it reads may have either case.
public enum Hexadecimal {
  /// Two digits for each byte.
  public static func encode(_ bytes: some Sequence<UInt8>) -> [UInt8] {
    let digits = Array("0123456789abcdef".utf8)
    return bytes.flatMap { [digits[Int($0 >> 4)], digits[Int($0 & 15)]] }
  }

  /// Two digits for each byte, as a string.
  public static func string(_ bytes: some Sequence<UInt8>) -> String { String(decoding: encode(bytes), as: UTF8.self) }

  /// The bytes that pairs of digits stand for; nil if there is another character, or an odd number of digits.
  package static func decode(_ text: some Sequence<UInt8>) -> [UInt8]? {
    var bytes: [UInt8] = []
    var high: UInt8?
    for character in text {
      guard let digit = value(character) else { return nil }
      guard let upper = high.take() else {
        high = digit
        continue
      }
      bytes.append(upper << 4 | digit)
    }
    return high == nil ? bytes : nil
  }

  /// The value of a digit of either case, 0…15; nil for another byte.
  @inlinable
  package static func value(_ byte: UInt8) -> UInt8? {
    switch byte {
    case 0x30...0x39: byte - 0x30
    case 0x41...0x46: byte - 0x41 + 10
    case 0x61...0x66: byte - 0x61 + 10
    default: nil
    }
  }

  /// Whether `byte` is a digit of either case.
  @inlinable
  package static func isDigit(_ byte: UInt8) -> Bool { value(byte) != nil }

  /// Whether `byte` is a lower-case digit, for formats that have no other (`traceparent`, our own files).
  @inlinable
  package static func isLowercaseDigit(_ byte: UInt8) -> Bool {
    (0x30...0x39).contains(byte) || (0x61...0x66).contains(byte)
  }

  /// The upper-case digit of `nibble`, 0…15, as percent-encoding has it.
  @inlinable
  package static func uppercaseDigit(_ nibble: UInt8) -> UInt8 { nibble < 10 ? 0x30 + nibble : 0x41 + nibble - 10 }
}
