/// An IPv6 address as a URL's host may hold it (RFC 4291 section 2.2), without zone identifier.
struct IPv6Address {
  private let groups: [UInt16]

  /// Parses the text between the brackets.
  init?(_ text: ArraySlice<UInt8>) {
    guard text.count <= 45 else { return nil }
    guard let gap = Self.doubleColon(in: text) else {
      guard let all = Self.groups(text, endsAddress: true), all.count == 8 else { return nil }
      groups = all
      return
    }
    guard let head = Self.groups(text[..<gap], endsAddress: false),
      let tail = Self.groups(text[(gap + 2)...], endsAddress: true), head.count + tail.count <= 7
    else { return nil }
    groups = head + [UInt16](repeating: 0, count: 8 - head.count - tail.count) + tail
  }

  /// Where the first `::` begins. A second one leaves an empty group behind it, which is refused there.
  private static func doubleColon(in text: ArraySlice<UInt8>) -> Int? {
    text.indices.dropLast().first { text[$0] == UInt8(ascii: ":") && text[$0 + 1] == UInt8(ascii: ":") }
  }

  /// The groups between single colons; nothing makes none.
  private static func groups(_ text: ArraySlice<UInt8>, endsAddress: Bool) -> [UInt16]? {
    guard !text.isEmpty else { return [] }
    let parts = text.split(separator: UInt8(ascii: ":"), omittingEmptySubsequences: false)
    var result: [UInt16] = []
    for (position, part) in parts.enumerated() {
      guard let values = group(part, isLast: endsAddress && position == parts.count - 1) else { return nil }
      result += values
    }
    return result
  }

  /// One group of hexadecimal digits, or in the last place a dotted quad that makes two.
  private static func group(_ part: ArraySlice<UInt8>, isLast: Bool) -> [UInt16]? {
    if isLast, part.contains(UInt8(ascii: ".")) {
      guard let quad = HTTPHost.dottedQuad(part) else { return nil }
      return [UInt16(quad[0]) << 8 | UInt16(quad[1]), UInt16(quad[2]) << 8 | UInt16(quad[3])]
    }
    guard (1...4).contains(part.count) else { return nil }
    var value: UInt16 = 0
    for byte in part {
      guard let digit = ASCII.hexValue(byte) else { return nil }
      value = value << 4 | UInt16(digit)
    }
    return [value]
  }

  /// The address in network byte order.
  var bytes: [UInt8] { groups.flatMap { [UInt8($0 >> 8), UInt8($0 & 0xFF)] } }

  /// The canonical text (RFC 5952): lower case, no leading zeros, the first longest run of two or more zero groups as
  /// `::`, IPv4-mapped addresses with a dotted quad at their end.
  var canonicalText: String {
    if groups[0..<5].allSatisfy({ $0 == 0 }), groups[5] == 0xFFFF {
      return "::ffff:\(groups[6] >> 8).\(groups[6] & 0xFF).\(groups[7] >> 8).\(groups[7] & 0xFF)"
    }
    var best = 0..<0
    var start = 0
    while start < 8 {
      var end = start
      while end < 8, groups[end] == 0 { end += 1 }
      if end - start >= 2, end - start > best.count { best = start..<end }
      start = max(end, start + 1)
    }
    func text(_ part: some Sequence<UInt16>) -> String {
      part.map { String($0, radix: 16) }.joined(separator: ":")
    }
    return best.isEmpty ? text(groups) : "\(text(groups[..<best.lowerBound]))::\(text(groups[best.upperBound...]))"
  }
}
