/// Hexadecimal text with lower-case digits.
public enum Hexadecimal {
  /// Two digits for each byte.
  public static func encode(_ bytes: some Sequence<UInt8>) -> [UInt8] {
    let digits = Array("0123456789abcdef".utf8)
    return bytes.flatMap { [digits[Int($0 >> 4)], digits[Int($0 & 15)]] }
  }

  /// Two digits for each byte, as a string.
  public static func string(_ bytes: some Sequence<UInt8>) -> String { String(decoding: encode(bytes), as: UTF8.self) }
}
