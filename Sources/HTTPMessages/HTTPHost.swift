public import PosternSupport

/// A URL's host: a name, a dotted quad, or an IPv6 address in brackets.
///
/// A trailing dot is not accepted (origins are compared as text, and certificates and cookies never have the dot).
/// Underscores are accepted in names (container networks use them). International names must be in punycode.
package enum HTTPHost {
  /// The host in canonical form; throws `emptyHost` or `invalidHost`.
  package static func canonical(_ bytes: ArraySlice<UInt8>) throws(HTTPURLError) -> String {
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
    // Resolvers take a host whose last label is a number, in any base, as an address: only the plain form is accepted.
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

  /// Whether a URL's host, as it is written, is a loopback address: 127.0.0.0/8 or `[::1]`. A name never is.
  package static func isLoopbackAddress(_ host: String) -> Bool {
    host == "[::1]" || dottedQuad(ArraySlice(host.utf8))?.first == 127
  }

  private static func isNameByte(_ byte: UInt8) -> Bool {
    ASCII.isLetter(byte) || ASCII.isDigit(byte) || byte == UInt8(ascii: "-") || byte == UInt8(ascii: "_")
  }

  /// Whether `inet_aton` would read the label as a number: all digits, or `0x` and hexadecimal digits.
  private static func looksNumeric(_ label: ArraySlice<UInt8>) -> Bool {
    if label.allSatisfy(ASCII.isDigit) { return true }
    guard label.count >= 2, label.first == 0x30, ASCII.lowercased(label[label.startIndex + 1]) == UInt8(ascii: "x")
    else { return false }
    return label.dropFirst(2).allSatisfy { Hexadecimal.isDigit($0) }
  }
}

/// An IP address, version 4 or 6.
public struct IPAddress: Sendable, Hashable {
  let bytes: [UInt8]

  /// The address of these 4 or 16 bytes, the first one first; nil for any other number of them.
  public init?(bytes: some Sequence<UInt8>) {
    self.bytes = Array(bytes)
    guard self.bytes.count == 4 || self.bytes.count == 16 else { return nil }
  }

  /// Parses a dotted quad or an IPv6 address without brackets and zone; nil for anything else.
  public init?(_ text: String) {
    let text = Array(text.utf8)[...]
    guard let bytes = HTTPHost.dottedQuad(text) ?? IPv6Address(text)?.bytes else { return nil }
    self.init(bytes: bytes)
  }

  /// Whether it is link-local (RFC 3927, RFC 4291 section 2.5.6), or one of the addresses outside of that range where
  /// clouds serve instance metadata: a host name should not resolve to it. IPv6 addresses that embed an IPv4 address
  /// are treated as that one.
  public var isLinkLocal: Bool {
    guard bytes.count == 16 else { return Self.isLinkLocal(bytes[...]) }
    if bytes[0] == 0xFE, bytes[1] & 0xC0 == 0x80 { return true }
    return Self.metadata.contains(bytes) || embedded.map(Self.isLinkLocal) ?? false
  }

  private static func isLinkLocal(_ quad: ArraySlice<UInt8>) -> Bool {
    quad.starts(with: [169, 254]) || metadata.contains(Array(quad))
  }

  /// The addresses of metadata services: `100.100.100.200`, `168.63.129.16`, `192.0.0.192`, `fd00:ec2::254` and
  /// `fd20:ce::254`.
  private static let metadata: Set<[UInt8]> = [
    [100, 100, 100, 200], [168, 63, 129, 16], [192, 0, 0, 192],
    [0xFD, 0x00, 0x0E, 0xC2] + [UInt8](repeating: 0, count: 10) + [0x02, 0x54],
    [0xFD, 0x20, 0x00, 0xCE] + [UInt8](repeating: 0, count: 10) + [0x02, 0x54],
  ]

  /// The IPv4 address embedded in an IPv6 one: mapped and compatible (RFC 4291 section 2.5.5), translated (RFC 6052
  /// section 2.2, RFC 8215), 6to4 (RFC 3056 section 2).
  private var embedded: ArraySlice<UInt8>? {
    let zeros = bytes.prefix { $0 == 0 }.count
    if zeros >= 12 || (zeros == 10 && bytes[10] == 0xFF && bytes[11] == 0xFF) { return bytes[12...] }
    if bytes.starts(with: [0x00, 0x64, 0xFF, 0x9B]) { return bytes[12...] }
    return bytes.starts(with: [0x20, 0x02]) ? bytes[2..<6] : nil
  }
}

extension IPAddress {
  /// The address that a URL's host is; nil for a name.
  init?(host: String) {
    if let quad = HTTPHost.dottedQuad(ArraySlice(host.utf8)) {
      self.init(bytes: quad)
    } else if host.utf8.first == UInt8(ascii: "["),
      let address = IPv6Address(ArraySlice(host.utf8.dropFirst().dropLast()))
    {
      self.init(bytes: address.bytes)
    } else {
      return nil
    }
  }
}

/// An IPv6 address as text (RFC 4291 section 2.2), without zone identifier.
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

  /// The index of the first `::`. A second one leaves an empty group, which is not accepted.
  private static func doubleColon(in text: ArraySlice<UInt8>) -> Int? {
    text.indices.dropLast().first { text[$0] == UInt8(ascii: ":") && text[$0 + 1] == UInt8(ascii: ":") }
  }

  /// The groups between single colons; an empty text has none.
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

  /// One group of hexadecimal digits, or at the end a dotted quad, which makes two groups.
  private static func group(_ part: ArraySlice<UInt8>, isLast: Bool) -> [UInt16]? {
    if isLast, part.contains(UInt8(ascii: ".")) {
      guard let quad = HTTPHost.dottedQuad(part) else { return nil }
      return [UInt16(quad[0]) << 8 | UInt16(quad[1]), UInt16(quad[2]) << 8 | UInt16(quad[3])]
    }
    guard (1...4).contains(part.count) else { return nil }
    var value: UInt16 = 0
    for byte in part {
      guard let digit = Hexadecimal.value(byte) else { return nil }
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

extension IPAddress: ConciseStringConvertible {
  /// `10.0.0.1`, or eight groups of an IPv6 address.
  public var description: String {
    guard bytes.count == 16 else { return bytes.map(String.init).joined(separator: ".") }
    return stride(from: 0, to: 16, by: 2).map { String(Int(bytes[$0]) << 8 | Int(bytes[$0 + 1]), radix: 16) }
      .joined(separator: ":")
  }
}
