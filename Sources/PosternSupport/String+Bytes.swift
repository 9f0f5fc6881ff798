import Glibc

extension String {
  /// Whether both hold the same UTF-8. `==` compares canonical equivalents, for which `é` in one scalar and in two are
  /// the same and U+212A (the Kelvin sign) is `K`: good for text, wrong for member names, ids, algorithm names and key
  /// ids.
  public func hasSameBytes(as other: String) -> Bool {
    let count = utf8.count
    guard count == other.utf8.count else { return false }
    let isSame = utf8.withContiguousStorageIfAvailable { left in
      other.utf8.withContiguousStorageIfAvailable { right in
        guard let left = left.baseAddress, let right = right.baseAddress else { return count == 0 }
        return memcmp(left, right, count) == 0
      }
    }
    return (isSame ?? nil) ?? utf8.elementsEqual(other.utf8)
  }

  /// Whether it contains `part`, byte by byte. `contains(_:)` looks for whole characters: it does not find
  /// what a combining scalar follows.
  public func containsBytes(of part: String) -> Bool {
    var (whole, part) = (self, part)
    return whole.withUTF8 { whole in part.withUTF8 { part in whole.holds(part) } }
  }
}

// Inlinable, so that none of it goes through the witnesses of `StringProtocol`: header names of every fetch pass here.
extension StringProtocol {
  /// With `a` to `z` for `A` to `Z`, and every other byte as it is: `lowercased()` makes `k` of U+212A, and more bytes
  /// of some characters. Names of header fields, schemes, media types and hosts are compared so (RFC 9110 section 5.1,
  /// RFC 3986 section 6.2.2.1).
  @inlinable
  public func lowercasedASCII() -> String {
    guard utf8.contains(where: ASCIICase.isUpper) else { return String(self) }
    return String(decoding: utf8.map(ASCIICase.lowercased), as: UTF8.self)
  }

  /// With `A` to `Z` for `a` to `z`, and every other byte as it is: `uppercased()` makes `S` of U+017F.
  @inlinable
  public func uppercasedASCII() -> String {
    guard utf8.contains(where: ASCIICase.isLower) else { return String(self) }
    return String(decoding: utf8.map { ASCIICase.isLower($0) ? $0 & ~0x20 : $0 }, as: UTF8.self)
  }

  /// Whether both hold the same bytes, but for the case of ASCII letters.
  @inlinable
  public func hasSameASCIILetters(as other: some StringProtocol) -> Bool {
    utf8.count == other.utf8.count
      && utf8.elementsEqual(other.utf8) { ASCIICase.lowercased($0) == ASCIICase.lowercased($1) }
  }

  /// Whether its first bytes are those of `prefix`. `hasPrefix(_:)` compares characters: it does not find what a
  /// combining scalar follows.
  @inlinable
  public func startsWithBytes(of prefix: some StringProtocol) -> Bool { utf8.starts(with: prefix.utf8) }

  /// Whether its last bytes are those of `suffix`.
  @inlinable
  public func endsWithBytes(of suffix: some StringProtocol) -> Bool {
    utf8.count >= suffix.utf8.count && utf8.suffix(suffix.utf8.count).elementsEqual(suffix.utf8)
  }
}

extension Substring {
  /// The parts between the bytes `separator`, an ASCII character.
  ///
  /// `split(separator:)` on text cuts between characters, and a combining scalar makes one character of itself and the
  /// separator before it, or, as U+0600 does, behind it: the cut that every other program makes would be missing.
  public func split(
    atByte separator: Unicode.Scalar, maxSplits: Int = .max, omittingEmptySubsequences: Bool = true
  ) -> [Substring] {
    let byte = UInt8(ascii: separator)
    return utf8.split(separator: byte, maxSplits: maxSplits, omittingEmptySubsequences: omittingEmptySubsequences)
      .map(Substring.init)
  }

  /// The part before the first of the bytes `terminators`, ASCII characters; all of it where there is none.
  public func prefix(beforeBytes terminators: Unicode.Scalar...) -> Substring {
    let bytes = terminators.map { UInt8(ascii: $0) }
    return Substring(utf8.prefix { !bytes.contains($0) })
  }
}

extension String {
  /// The parts between the bytes `separator`, an ASCII character, as `Substring` has it.
  public func split(
    atByte separator: Unicode.Scalar, maxSplits: Int = .max, omittingEmptySubsequences: Bool = true
  ) -> [Substring] {
    self[...].split(
      atByte: separator, maxSplits: maxSplits, omittingEmptySubsequences: omittingEmptySubsequences)
  }

  /// The part before the first of the bytes `terminators`, as a `Substring`.
  public func prefix(beforeBytes terminators: Unicode.Scalar...) -> Substring {
    let bytes = terminators.map { UInt8(ascii: $0) }
    return Substring(utf8.prefix { !bytes.contains($0) })
  }
}

/// The case of ASCII letters.
@usableFromInline
package enum ASCIICase {
  @inlinable
  static func isUpper(_ byte: UInt8) -> Bool { byte >= 0x41 && byte <= 0x5A }

  @inlinable
  static func isLower(_ byte: UInt8) -> Bool { byte >= 0x61 && byte <= 0x7A }

  @inlinable
  package static func lowercased(_ byte: UInt8) -> UInt8 { isUpper(byte) ? byte | 0x20 : byte }
}

extension UnsafeBufferPointer<UInt8> {
  fileprivate func holds(_ part: UnsafeBufferPointer<UInt8>) -> Bool {
    guard let first = part.baseAddress, part.count > 0 else { return true }
    guard let start = baseAddress, part.count <= count else { return false }
    let last = count - part.count
    var offset = 0
    while offset <= last {
      guard let found = memchr(start + offset, Int32(first[0]), last - offset + 1) else { return false }
      if memcmp(found, first, part.count) == 0 { return true }
      offset = UnsafeRawPointer(start).distance(to: UnsafeRawPointer(found)) + 1
    }
    return false
  }
}

extension String {
  /// Whether both hold the same UTF-8. `==` also accepts canonical equivalents, which are other identifiers here.
  package func isIdentical(to other: String) -> Bool { hasSameBytes(as: other) }
}

/// Strings told apart byte by byte, found in constant time: lists in tokens and calls may be long.
package struct IdenticalStrings: Sendable {
  private let members: Set<[UInt8]>

  package init(_ strings: some Sequence<some StringProtocol>) { members = Set(strings.map { Array($0.utf8) }) }

  package func contains(_ text: some StringProtocol) -> Bool { members.contains(Array(text.utf8)) }
}

extension [String] {
  /// Whether one element is `text`, byte by byte.
  package func containsIdentical(_ text: String) -> Bool { contains { $0.isIdentical(to: text) } }
}
