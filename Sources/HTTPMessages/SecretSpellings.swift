import PosternSupport

/// The spellings in which a server may return secrets that it received: as they are, percent-encoded or form-encoded
/// up to six times over each other, escaped in a quoted string, in base64 or base64url by themselves or within
/// something longer, all of it in any case. Finding them takes time in proportion to the text.
package struct SecretSpellings: Sendable {
  /// A shorter piece of base64 would be found by chance.
  private static let minimumBase64Count = 8
  /// A URL within the query of another one within that of a third has its parameters encoded three times.
  private static let maxDecodings = 6

  private var patterns: [Pattern] = []

  /// The spellings of `secrets`; empty ones are ignored.
  package init(_ secrets: [String]) {
    for secret in secrets where !secret.isEmpty {
      let bytes = Array(secret.utf8)
      patterns.append(Pattern(bytes))
      patterns += Self.base64(bytes).map { Pattern(Array($0.utf8), margin: 1) }
    }
  }

  /// The spellings of `value` where it stands alone as the value of a parameter `name`: for a value that is so short
  /// that it occurs by chance.
  package init(ofParameter name: String, value: String) {
    patterns = [Pattern(Array("\(name)=".utf8) + Array(value.utf8), prefix: name.utf8.count + 1, standsAlone: true)]
  }

  /// Whether one of them occurs in `text`.
  package func occur(in text: String) -> Bool { !ranges(in: text, atMost: 1).isEmpty }

  /// `text` with `mask` in place of each of them; nil: none occurs.
  package func masked(_ text: String, with mask: String) -> String? {
    let found = ranges(in: text, atMost: .max).sorted { $0.lowerBound < $1.lowerBound }
    guard !found.isEmpty else { return nil }
    let bytes = Array(text.utf8)
    var result: [UInt8] = []
    var end = 0
    for range in found {
      if range.lowerBound >= end {
        result += bytes[end..<range.lowerBound]
        result += mask.utf8
      }
      end = max(end, range.upperBound)
    }
    result += bytes[end...]
    return String(decoding: result, as: UTF8.self)
  }

  /// The positions of the spellings in the UTF-8 of `text`; fewer where that is more than `limit`.
  private func ranges(in text: String, atMost limit: Int) -> [Range<Int>] {
    guard let shortest = patterns.map(\.count).min(), text.utf8.count >= shortest else { return [] }
    var layer = Layer(text)
    var found: [Range<Int>] = []
    for _ in 0...Self.maxDecodings {
      for pattern in patterns {
        for range in pattern.ranges(in: layer.bytes) {
          found.append(layer.source(of: range))
          if found.count >= limit { return found }
        }
      }
      guard let decoded = layer.decoded() else { break }
      layer = decoded
    }
    return found
  }

  /// Returns the characters that represent `secret` alone in base64, after any number of other bytes: one text for each
  /// offset within three bytes.
  private static func base64(_ secret: [UInt8]) -> [String] {
    (0..<3).flatMap { offset -> [String] in
      let before = [UInt8](repeating: 0, count: offset)
      // Characters that contain bits of neighbouring bytes do not represent the secret alone.
      let whole = (offset + secret.count) * 8 / 6
      let foreign = (offset * 8 + 5) / 6
      guard whole - foreign >= minimumBase64Count else { return [] }
      let texts = [Base64.string(before + secret), Base64URL.string(before + secret)].map { text in
        String(decoding: text.utf8.prefix(whole).dropFirst(foreign), as: UTF8.self)
      }
      return texts[0] == texts[1] ? [texts[0]] : texts
    }
  }

  /// The byte by which bytes are compared: of a letter in either case, and of a space, which forms write as `+`.
  @inline(__always)
  fileprivate static func folded(_ byte: UInt8) -> UInt8 { byte == UInt8(ascii: "+") ? 0x20 : ASCII.lowercased(byte) }
}

/// Bytes to look for, by the algorithm of Knuth, Morris and Pratt: no byte of a text is looked at again for each start.
private struct Pattern: Sendable {
  private let bytes: [UInt8]
  /// For each number of bytes that match: how many still do when the byte behind them does not.
  private let borders: [Int32]
  /// How many of the bytes come before the secret.
  private let prefix: Int
  /// How many characters next to it have a part of the secret, too.
  private let margin: Int
  /// Whether it occurs only between characters that do not belong to a name or a value.
  private let standsAlone: Bool

  init(_ bytes: [UInt8], prefix: Int = 0, margin: Int = 0, standsAlone: Bool = false) {
    let folded = bytes.map(SecretSpellings.folded)
    var borders = [Int32](repeating: 0, count: folded.count)
    var length = 0
    for index in folded.indices.dropFirst() {
      while length > 0, folded[index] != folded[length] { length = Int(borders[length - 1]) }
      if folded[index] == folded[length] { length += 1 }
      borders[index] = Int32(length)
    }
    self.bytes = folded
    self.borders = borders
    self.prefix = prefix
    self.margin = margin
    self.standsAlone = standsAlone
  }

  var count: Int { bytes.count }

  /// Where the secret stands in `text`.
  func ranges(in text: [UInt8]) -> [Range<Int>] {
    guard text.count >= bytes.count else { return [] }
    var found: [Range<Int>] = []
    var length = 0
    for (index, byte) in text.enumerated() {
      let byte = SecretSpellings.folded(byte)
      while length > 0, byte != bytes[length] { length = Int(borders[length - 1]) }
      if byte == bytes[length] { length += 1 }
      guard length == bytes.count else { continue }
      length = Int(borders[length - 1])
      let (start, end) = (index + 1 - bytes.count, index + 1)
      guard !standsAlone || isAlone(start..<end, in: text) else { continue }
      found.append(widened(start + prefix..<end, in: text))
    }
    return found
  }

  /// `range` with the characters of base64 next to it that have a part of the secret.
  private func widened(_ range: Range<Int>, in text: [UInt8]) -> Range<Int> {
    func isNeighbour(_ index: Int) -> Bool {
      guard margin > 0, text.indices.contains(index) else { return false }
      return ASCII.isLetter(text[index]) || ASCII.isDigit(text[index]) || "+/-_".utf8.contains(text[index])
    }
    let start = isNeighbour(range.lowerBound - 1) ? range.lowerBound - margin : range.lowerBound
    return start..<(isNeighbour(range.upperBound) ? range.upperBound + margin : range.upperBound)
  }

  private static func mayBeOfValue(_ byte: UInt8) -> Bool { byte == UInt8(ascii: "%") || ASCII.isUnreserved(byte) }

  private func isAlone(_ range: Range<Int>, in text: [UInt8]) -> Bool {
    let isBegun = range.lowerBound > 0 && ASCII.isUnreserved(text[range.lowerBound - 1])
    let isContinued = range.upperBound < text.count && Self.mayBeOfValue(text[range.upperBound])
    return !isBegun && !isContinued
  }
}

/// A text after some number of decodings, with the position of each byte in the original.
private struct Layer {
  let bytes: [UInt8]
  /// The positions, and that of the end; empty: the bytes are the original's.
  private let starts: [Int32]

  init(_ text: String) {
    bytes = Array(text.utf8)
    starts = []
  }

  private init(_ bytes: [UInt8], _ starts: [Int32]) {
    self.bytes = bytes
    self.starts = starts
  }

  /// Where the bytes of `range` come from.
  func source(of range: Range<Int>) -> Range<Int> {
    starts.isEmpty ? range : Int(starts[range.lowerBound])..<Int(starts[range.upperBound])
  }

  /// The text decoded once more; nil: there is nothing to decode.
  func decoded() -> Layer? {
    guard bytes.contains(where: { $0 == UInt8(ascii: "%") || $0 == UInt8(ascii: "\\") }) else { return nil }
    var (result, positions): ([UInt8], [Int32]) = ([], [])
    result.reserveCapacity(bytes.count)
    positions.reserveCapacity(bytes.count + 1)
    var index = 0
    while index < bytes.count {
      let (byte, length) = character(at: index)
      result.append(byte)
      positions.append(starts.isEmpty ? Int32(index) : starts[index])
      index += length
    }
    guard result.count < bytes.count else { return nil }
    positions.append(starts.last ?? Int32(bytes.count))
    return Layer(result, positions)
  }

  /// The character that is encoded at `index`, and how many bytes encode it.
  private func character(at index: Int) -> (byte: UInt8, length: Int) {
    let byte = bytes[index]
    if byte == UInt8(ascii: "%"), index + 2 < bytes.count, let high = Hexadecimal.value(bytes[index + 1]),
      let low = Hexadecimal.value(bytes[index + 2])
    {
      return (high << 4 | low, 3)
    }
    // A quoted pair (RFC 9110 section 5.6.4), and the slash of JSON.
    if byte == UInt8(ascii: "\\"), index + 1 < bytes.count, #""\/"#.utf8.contains(bytes[index + 1]) {
      return (bytes[index + 1], 2)
    }
    return (byte, 1)
  }
}
