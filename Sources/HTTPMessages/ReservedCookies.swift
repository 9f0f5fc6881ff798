import PosternSupport

/// The names of cookies that no caller may send, in every spelling in which a server may read one of them.
///
/// Servers disagree about `Cookie`: some separate pairs by commas or white space, too, take a pair without a name for
/// one (`=name=value`), take off quotation marks, white space and the `$` of RFC 2965, decode names, read `name[x]` as
/// `name`, and compare without case.
package struct ReservedCookies: Sendable {
  /// A name that is encoded more often is read by nobody.
  private static let maxDecodings = 3

  /// The names, as they are compared.
  private let names: Set<String>

  package init(_ names: Set<String>) { self.names = Set(names.map { Self.comparable(Array($0.utf8)[...]) }) }

  /// Whether a server may read one of the names in `pair`: a part of a `Cookie` field between semicolons, or the name
  /// of a cookie.
  package func occur(in pair: some StringProtocol) -> Bool {
    guard !names.isEmpty else { return false }
    return Array(pair.utf8).split(separator: UInt8(ascii: ",")).contains { part in
      // What comes first is a name, with a value or without; further on a word is one if a value follows.
      Self.words(of: part).enumerated().contains { position, word in
        (position == 0 || word.hasValue) && isReserved(word.name)
      }
    }
  }

  /// `field`, the value of a `Cookie` field, without the pairs in which one of the names occurs; nil: nothing is left.
  package func removed(from field: String) -> String? {
    let pairs = field.split(atByte: ";")
    let kept = pairs.filter { !occur(in: $0) }
    guard kept.count < pairs.count else { return field.isEmpty ? nil : field }
    return kept.isEmpty ? nil : kept.map { HTTPFieldRules.trimmed(String($0)) }.joined(separator: "; ")
  }

  private struct Word {
    let name: ArraySlice<UInt8>
    /// Whether an equals sign follows.
    var hasValue: Bool
  }

  /// The words between white space that may be names.
  private static func words(of part: ArraySlice<UInt8>) -> [Word] {
    var words: [Word] = []
    for text in part.split(whereSeparator: { $0 <= 0x20 || $0 >= 0x7F }) {
      // An equals sign before a word belongs to the word before, or to a pair without a name.
      let rest = text.drop { $0 == UInt8(ascii: "=") }
      if rest.count < text.count, let last = words.indices.last { words[last].hasValue = true }
      guard !rest.isEmpty else { continue }
      let name = rest.prefix { $0 != UInt8(ascii: "=") }
      words.append(Word(name: name, hasValue: name.count < rest.count))
    }
    return words
  }

  private func isReserved(_ name: ArraySlice<UInt8>) -> Bool {
    var name = name
    for _ in 0..<Self.maxDecodings {
      if names.contains(Self.comparable(name)) { return true }
      guard let decoded = PercentEncoding.decodedOnce(name) else { return false }
      name = decoded[...]
    }
    return names.contains(Self.comparable(name))
  }

  /// The name without what servers take off, by `HTTPFieldRules.canonical(_:)`: some have one variable for `a.b` and
  /// `a_b`.
  private static func comparable(_ name: ArraySlice<UInt8>) -> String {
    let bare = name.drop { !ASCII.isUnreserved($0) }.prefix { byte in
      byte != 0 && byte != UInt8(ascii: "[") && byte != UInt8(ascii: "=")
    }
    let end = bare.lastIndex(where: ASCII.isUnreserved).map { $0 + 1 } ?? bare.startIndex
    return HTTPFieldRules.canonical(String(decoding: bare[..<end], as: UTF8.self))
  }
}

extension PercentEncoding {
  /// The bytes with each `%XX` decoded once; nil: there is nothing to decode.
  static func decodedOnce(_ bytes: ArraySlice<UInt8>) -> [UInt8]? {
    guard bytes.contains(UInt8(ascii: "%")) else { return nil }
    var result: [UInt8] = []
    result.reserveCapacity(bytes.count)
    var rest = bytes
    while let byte = rest.popFirst() {
      if byte == UInt8(ascii: "%"), let high = rest.first.flatMap(Hexadecimal.value),
        let low = rest.dropFirst().first.flatMap(Hexadecimal.value)
      {
        result.append(high << 4 | low)
        rest = rest.dropFirst(2)
      } else {
        result.append(byte)
      }
    }
    return result.count < bytes.count ? result : nil
  }
}
