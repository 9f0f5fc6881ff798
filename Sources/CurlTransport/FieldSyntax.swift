import HTTPMessages

/// The grammar of field lines, on bytes (RFC 9110 section 5).
enum FieldSyntax {
  /// A part of a line.
  typealias Bytes = UnsafeBufferPointer<UInt8>

  /// The part of `text` without spaces and tabs at its ends.
  static func trimmed(_ text: Slice<Bytes>) -> Bytes { Bytes(rebasing: ASCII.trimmed(text)) }

  /// `1*tchar` (RFC 9110 section 5.6.2).
  static func isToken(_ bytes: some Sequence<UInt8>) -> Bool {
    var isEmpty = true
    for byte in bytes {
      guard ASCII.isTokenCharacter(byte) else { return false }
      isEmpty = false
    }
    return !isEmpty
  }

  /// Whether the bytes spell `name`, which is lower case, in any case.
  static func isName(_ bytes: some Sequence<UInt8>, _ name: StaticString) -> Bool {
    var index = 0
    let count = name.utf8CodeUnitCount
    for byte in bytes {
      let lower = byte >= 0x41 && byte <= 0x5A ? byte | 0x20 : byte
      guard index < count, lower == name.utf8Start[index] else { return false }
      index += 1
    }
    return index == count
  }

  /// Whether the bytes begin with `text`.
  static func begins(_ bytes: Bytes, _ text: StaticString) -> Bool {
    let count = text.utf8CodeUnitCount
    guard bytes.count >= count else { return false }
    for index in 0..<count where bytes[index] != text.utf8Start[index] { return false }
    return true
  }

  /// Whether the bytes can be a field value: no NUL, CR or LF, which are how responses are split.
  static func isValue(_ bytes: some Sequence<UInt8>) -> Bool {
    bytes.allSatisfy { $0 != 0 && $0 != 0x0D && $0 != 0x0A }
  }

  /// `1*DIGIT`, of 18 at most.
  static func number(_ text: Bytes) -> Int? {
    guard !text.isEmpty, text.count <= 18 else { return nil }
    var number = 0
    for byte in text {
      guard ASCII.isDigit(byte) else { return nil }
      number = number * 10 + Int(byte - 0x30)
    }
    return number
  }

  /// UTF-8 where it is, otherwise ISO 8859-1, so that no byte is lost.
  static func string(_ bytes: Bytes) -> String {
    // The usual case first: the validating initialiser is several times slower.
    if bytes.allSatisfy({ $0 < 0x80 }) { return String(decoding: bytes, as: UTF8.self) }
    if let string = String(validating: bytes, as: UTF8.self) { return string }
    return String(String.UnicodeScalarView(bytes.map { Unicode.Scalar($0) }))
  }
}
