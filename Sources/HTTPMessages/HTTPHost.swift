/// A URL's host: a name, a dotted quad, or an IPv6 address in brackets.
///
/// Decided: a trailing dot is refused (an origin is compared as text, and certificates and cookies never carry the
/// dot); underscores are accepted in names (container networks use them); international names must come as punycode.
enum HTTPHost {
  /// The host in canonical form; throws `emptyHost` or `invalidHost`.
  static func canonical(_ bytes: ArraySlice<UInt8>) throws(HTTPURLError) -> String {
    guard let first = bytes.first else { throw HTTPURLError(.emptyHost) }
    if first == UInt8(ascii: "[") {
      guard bytes.last == UInt8(ascii: "]"), bytes.count > 2, let address = IPv6Address(bytes.dropFirst().dropLast())
      else { throw HTTPURLError(.invalidHost) }
      return "[\(address.canonicalText)]"
    }
    guard bytes.count <= 253 else { throw HTTPURLError(.invalidHost) }
    let labels = bytes.split(separator: UInt8(ascii: "."), omittingEmptySubsequences: false)
    for label in labels {
      guard (1...63).contains(label.count), label.allSatisfy(isNameByte) else { throw HTTPURLError(.invalidHost) }
    }
    // What ends in a number is an address to every resolver, in whatever odd base: only the plain form may pass.
    if let last = labels.last, looksNumeric(last), dottedQuad(bytes) == nil { throw HTTPURLError(.invalidHost) }
    return String(decoding: bytes.map(ASCII.lowercased), as: UTF8.self)
  }

  /// The four bytes of a canonical dotted quad: decimal, without leading zeros.
  static func dottedQuad(_ bytes: ArraySlice<UInt8>) -> [UInt8]? {
    let parts = bytes.split(separator: UInt8(ascii: "."), omittingEmptySubsequences: false)
    guard parts.count == 4 else { return nil }
    var quad: [UInt8] = []
    for part in parts {
      guard (1...3).contains(part.count), part.allSatisfy(ASCII.isDigit), part.count == 1 || part.first != 0x30 else {
        return nil
      }
      let value = part.reduce(0) { $0 * 10 + Int($1 - 0x30) }
      guard let byte = UInt8(exactly: value) else { return nil }
      quad.append(byte)
    }
    return quad
  }

  private static func isNameByte(_ byte: UInt8) -> Bool {
    ASCII.isLetter(byte) || ASCII.isDigit(byte) || byte == UInt8(ascii: "-") || byte == UInt8(ascii: "_")
  }

  /// All digits, or `0x` and hexadecimal digits: what `inet_aton` would read as a number.
  private static func looksNumeric(_ label: ArraySlice<UInt8>) -> Bool {
    if label.allSatisfy(ASCII.isDigit) { return true }
    guard label.count >= 2, label.first == 0x30, ASCII.lowercased(label[label.startIndex + 1]) == UInt8(ascii: "x")
    else { return false }
    return label.dropFirst(2).allSatisfy { ASCII.hexValue($0) != nil }
  }
}
