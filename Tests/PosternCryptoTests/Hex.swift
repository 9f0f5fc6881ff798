/// The bytes that pairs of hexadecimal digits stand for; white space between them does not count.
func hex(_ text: String) -> [UInt8] {
  let digits = text.utf8.compactMap { UInt8(String(UnicodeScalar($0)), radix: 16) }
  return stride(from: 0, to: digits.count, by: 2).map { digits[$0] << 4 | digits[$0 + 1] }
}
