import Glibc

/// The length and the first seven bytes of a member's name in one word: what a look-up compares first, and mostly last,
/// since nearly all names are short or differ there.
struct NameMark: Sendable, Hashable {
  private static let shown = 7

  private let word: UInt64

  init(_ name: String) {
    var name = name
    word = name.withUTF8 { text in
      var word: UInt64 = 0
      if let base = text.baseAddress { memcpy(&word, base, min(text.count, Self.shown)) }
      return word.littleEndian | UInt64(min(text.count, 255)) << 56
    }
  }

  /// Whether names with this mark have the same bytes.
  var isWholeName: Bool { word >> 56 <= UInt64(Self.shown) }
}
