public import PosternSupport

/// An access token from a token endpoint.
public struct AccessToken: Sendable {
  /// The token itself: visible ASCII without spaces, ready for `Authorization`.
  public let value: Secret<String>
  /// The number of the token within one engine: of two tokens for the same grant the newer has the greater one.
  public let generation: UInt64
  /// The expiry by the boot clock, counted from before the request was sent.
  public let expiry: MonotonicInstant
  /// The lifetime given by the issuer; nil where it is unknown.
  public let lifetime: Duration?
  /// The expiry by the wall clock, for people.
  public let expiresAt: Timestamp
  /// The time from which it is no longer used: 30 s before it expires, or a tenth of its lifetime if that is less.
  public let usableUntil: MonotonicInstant
  /// The granted scope, which is the requested one where the answer has none (RFC 6749 section 5.1); nil when neither
  /// is known.
  public let scope: String?
  /// The binding to its sender.
  package let binding: TokenBinding

  package init(
    value: Secret<String>, generation: UInt64, expiry: MonotonicInstant, lifetime: Duration?, expiresAt: Timestamp,
    usableUntil: MonotonicInstant, scope: String?, binding: TokenBinding
  ) {
    self.value = value
    self.generation = generation
    self.expiry = expiry
    self.lifetime = lifetime
    self.expiresAt = expiresAt
    self.usableUntil = usableUntil
    self.scope = scope
    self.binding = binding
  }

  /// The token's type: a bearer token, or one with a proof of possession.
  public var type: TokenType { binding.key == nil ? .bearer : .dpop }

  /// Returns how long before its expiry a token of that lifetime counts as expired: 30 s, or a tenth of a short
  /// lifetime.
  package static func margin(ofLifetime lifetime: Duration) -> Duration { min(.seconds(30), lifetime / 10) }

  /// Whether it may still be used at `now`.
  public func isFresh(at now: MonotonicInstant) -> Bool { usableUntil > now }
}

/// A request for a client credentials token (RFC 6749 section 4.4), which is also its key in the cache.
public struct ClientCredentialsGrant: Sendable, Hashable {
  /// The issuer of the token.
  public let issuer: Issuer
  /// The requested scope; nil sends none and gets the server's default.
  public let scope: String?
  /// The audience of the token; nil sends none.
  public let audience: String?

  /// A grant of the given parts.
  public init(issuer: Issuer, scope: String? = nil, audience: String? = nil) {
    self.issuer = issuer
    self.scope = scope
    self.audience = audience
  }

  /// The form's members, without those of client authentication.
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

  /// Returns the form's members for an audience; see `form`.
  package static func audienceMembers(_ audience: String) -> [(name: String, value: String)] {
    let member = (name: "audience", value: audience)
    return isAbsoluteURI(audience) ? [(name: "resource", value: audience), member] : [member]
  }

  /// Whether `text` is an absolute URI: a scheme, a colon, something behind it, no fragment and no byte that no URI has
  /// (RFC 3986 section 4.3, RFC 8707 section 2).
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

extension AccessToken: ConciseStringConvertible {
  /// Type, scope and expiry: never the token.
  public var description: String {
    Concise.text(
      "\(type.rawValue) token", scope.map { "scope \(Concise.name($0))" }, lifetime.map { _ in "expires \(expiresAt)" })
  }
}

extension ClientCredentialsGrant: ConciseStringConvertible {
  /// Issuer and scope.
  public var description: String {
    Concise.text(
      "client credentials at \(Concise.name(issuer.name))", scope.map { "scope \(Concise.name($0))" },
      audience.map { "audience \(Concise.name($0))" })
  }
}
