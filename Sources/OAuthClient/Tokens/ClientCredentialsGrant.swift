/// What a client credentials token is asked for (RFC 6749 section 4.4); by value, this is the key it is cached under.
public struct ClientCredentialsGrant: Sendable, Hashable {
  /// Who gives the token.
  public let issuer: Issuer
  /// The scope asked for; nil sends none and gets the server's default.
  public let scope: String?
  /// Whom the token is for; nil sends nothing.
  public let audience: String?

  /// A grant of the given parts.
  public init(issuer: Issuer, scope: String? = nil, audience: String? = nil) {
    self.issuer = issuer
    self.scope = scope
    self.audience = audience
  }

  /// The form's members before the client's own.
  ///
  /// An audience that is an absolute URI is sent as `resource` (RFC 8707 section 2) and as `audience` as well; any
  /// other only as `audience`. Servers know one of the two, and must ignore the one they do not know (RFC 6749 section
  /// 3.2).
  var form: [(name: String, value: String)] {
    var form = [(name: "grant_type", value: "client_credentials")]
    if let scope { form.append((name: "scope", value: scope)) }
    if let audience { form += Self.audienceMembers(audience) }
    return form
  }

  /// The members that say whom a token is for; see `form`.
  package static func audienceMembers(_ audience: String) -> [(name: String, value: String)] {
    let member = (name: "audience", value: audience)
    return isAbsoluteURI(audience) ? [(name: "resource", value: audience), member] : [member]
  }

  /// A scheme, a colon, something behind it, no fragment and no byte that no URI holds (RFC 3986 section 4.3, RFC 8707
  /// section 2).
  package static func isAbsoluteURI(_ text: String) -> Bool {
    let bytes = Array(text.utf8)
    guard let colon = bytes.firstIndex(of: UInt8(ascii: ":")), colon > 0, colon < bytes.count - 1 else { return false }
    func isLetter(_ byte: UInt8) -> Bool { (0x61...0x7A).contains(byte | 0x20) }
    guard isLetter(bytes[0]) else { return false }
    for byte in bytes[..<colon] {
      let isDigit = (0x30...0x39).contains(byte)
      guard isLetter(byte) || isDigit || "+-.".utf8.contains(byte) else { return false }
    }
    return bytes.allSatisfy { $0 > 0x20 && $0 < 0x7F && $0 != UInt8(ascii: "#") }
  }
}
