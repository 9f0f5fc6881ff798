/// An IP address as a socket has it.
public struct IPAddress: Sendable, Hashable {
  private let bytes: [UInt8]

  /// The address of these 4 or 16 bytes, the first one first; nil for any other number of them.
  public init?(bytes: some Sequence<UInt8>) {
    self.bytes = Array(bytes)
    guard self.bytes.count == 4 || self.bytes.count == 16 else { return nil }
  }

  /// The address that `text` is, as URLs have it but for brackets: a dotted quad or IPv6 without a zone; nil for
  /// anything else.
  public init?(_ text: String) {
    let text = Array(text.utf8)[...]
    guard let bytes = HTTPHost.dottedQuad(text) ?? IPv6Address(text)?.bytes else { return nil }
    self.init(bytes: bytes)
  }

  /// Whether it is link-local (RFC 3927, RFC 4291 section 2.5.6), or one of the addresses outside of that range at
  /// which clouds tell a machine its credentials: nothing that a name should lead to. The forms of IPv6 that carry an
  /// IPv4 address count as that one.
  public var isLinkLocal: Bool {
    guard bytes.count == 16 else { return Self.isLinkLocal(bytes[...]) }
    if bytes[0] == 0xFE, bytes[1] & 0xC0 == 0x80 { return true }
    return Self.metadata.contains(bytes) || carried.map(Self.isLinkLocal) ?? false
  }

  private static func isLinkLocal(_ quad: ArraySlice<UInt8>) -> Bool {
    quad.starts(with: [169, 254]) || metadata.contains(Array(quad))
  }

  /// `100.100.100.200`, `168.63.129.16`, `192.0.0.192`, `fd00:ec2::254` and `fd20:ce::254`.
  private static let metadata: Set<[UInt8]> = [
    [100, 100, 100, 200], [168, 63, 129, 16], [192, 0, 0, 192],
    [0xFD, 0x00, 0x0E, 0xC2] + [UInt8](repeating: 0, count: 10) + [0x02, 0x54],
    [0xFD, 0x20, 0x00, 0xCE] + [UInt8](repeating: 0, count: 10) + [0x02, 0x54],
  ]

  /// The IPv4 address within an IPv6 one: mapped and compatible (RFC 4291 section 2.5.5), translated (RFC 6052 section
  /// 2.2, RFC 8215), 6to4 (RFC 3056 section 2).
  private var carried: ArraySlice<UInt8>? {
    let zeros = bytes.prefix { $0 == 0 }.count
    if zeros >= 12 || (zeros == 10 && bytes[10] == 0xFF && bytes[11] == 0xFF) { return bytes[12...] }
    if bytes.starts(with: [0x00, 0x64, 0xFF, 0x9B]) { return bytes[12...] }
    return bytes.starts(with: [0x20, 0x02]) ? bytes[2..<6] : nil
  }
}

extension HTTPURL.Origin {
  /// Whether the host is an address, not a name, and link-local in the sense of `IPAddress`.
  public var isLinkLocalAddress: Bool {
    if let quad = HTTPHost.dottedQuad(ArraySlice(host.utf8)) { return IPAddress(bytes: quad)?.isLinkLocal ?? false }
    guard host.utf8.first == UInt8(ascii: "["), let address = IPv6Address(ArraySlice(host.utf8.dropFirst().dropLast()))
    else {
      return false
    }
    return IPAddress(bytes: address.bytes)?.isLinkLocal ?? false
  }
}
