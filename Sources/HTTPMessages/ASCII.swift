/// Character classes of the HTTP, URL and JSON grammars. Hexadecimal digits are in `Hexadecimal`.
///
/// `@usableFromInline`: without it nothing of a type with `package` access is inlined, or specialised, in another module.
@usableFromInline
package enum ASCII {
  /// A decimal digit.
  @inlinable
  package static func isDigit(_ byte: UInt8) -> Bool { byte >= 0x30 && byte <= 0x39 }

  /// A letter of either case.
  @inlinable
  package static func isLetter(_ byte: UInt8) -> Bool { (byte | 0x20) >= 0x61 && (byte | 0x20) <= 0x7A }

  /// The byte, or the lower-case letter of a capital.
  @inlinable
  package static func lowercased(_ byte: UInt8) -> UInt8 { byte >= 0x41 && byte <= 0x5A ? byte | 0x20 : byte }

  /// A space or a tab: the white space of HTTP (RFC 9110 section 5.6.3, `OWS`).
  @inlinable
  package static func isSpace(_ byte: UInt8) -> Bool { byte == 0x20 || byte == 0x09 }

  /// The white space of JSON (RFC 8259 section 2): a space, a tab, or a part of a line end.
  @inlinable
  package static func isJSONSpace(_ byte: UInt8) -> Bool {
    byte == 0x20 || byte == 0x0A || byte == 0x0D || byte == 0x09
  }

  /// `text` without spaces and tabs at both ends.
  @inlinable
  package static func trimmed<Text: BidirectionalCollection<UInt8>>(_ text: Text) -> Text.SubSequence {
    var (start, end) = (text.startIndex, text.endIndex)
    while start < end, isSpace(text[start]) { text.formIndex(after: &start) }
    while start < end {
      let last = text.index(before: end)
      guard isSpace(text[last]) else { break }
      end = last
    }
    return text[start..<end]
  }

  /// RFC 3986 section 2.3.
  static func isUnreserved(_ byte: UInt8) -> Bool {
    isLetter(byte) || isDigit(byte) || byte == UInt8(ascii: "-") || byte == UInt8(ascii: ".")
      || byte == UInt8(ascii: "_") || byte == UInt8(ascii: "~")
  }

  /// RFC 3986 section 2.2, `sub-delims`.
  static func isSubDelimiter(_ byte: UInt8) -> Bool {
    switch byte {
    case UInt8(ascii: "!"), UInt8(ascii: "$"), UInt8(ascii: "&"), UInt8(ascii: "'"), UInt8(ascii: "("),
      UInt8(ascii: ")"), UInt8(ascii: "*"), UInt8(ascii: "+"), UInt8(ascii: ","), UInt8(ascii: ";"),
      UInt8(ascii: "="):
      true
    default: false
    }
  }

  /// RFC 9110 section 11.2, the characters of a `token68` before its `=`.
  package static func isToken68Character(_ byte: UInt8) -> Bool {
    isUnreserved(byte) || byte == UInt8(ascii: "+") || byte == UInt8(ascii: "/")
  }

  /// RFC 9110 section 5.6.2, `tchar`.
  @inlinable
  package static func isTokenCharacter(_ byte: UInt8) -> Bool {
    // One bit for each byte: digits and !#$%&'*+-. below 64, letters and ^_`|~ from there on.
    let bits: UInt64 = byte < 64 ? 0x03FF_6CFA_0000_0000 : 0x57FF_FFFF_C7FF_FFFE
    return byte < 0x80 && bits >> UInt64(byte & 63) & 1 == 1
  }

  /// The result of `body` with the bytes of `text`: reading a String byte by byte costs several times as much.
  @inline(__always)
  static func withBytes<Result>(of text: String, _ body: (UnsafeBufferPointer<UInt8>) -> Result) -> Result {
    if let result = text.utf8.withContiguousStorageIfAvailable(body) { return result }
    var text = text
    return text.withUTF8(body)
  }
}
