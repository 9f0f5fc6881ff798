public import PosternJSON
public import PosternSupport

/// The claims of a JWT. The registered ones have the right JSON type (RFC 7519 section 4.1, OpenID Connect Core section
/// 2); their values are not validated.
public struct JWTClaims: Sendable {
  /// All members as received.
  public let members: JSONObject
  /// `aud`: one or more; nil when absent.
  public let audiences: [String]?
  /// `exp`.
  public let expiresAt: Timestamp?
  /// `nbf`.
  public let notBefore: Timestamp?
  /// `iat`.
  public let issuedAt: Timestamp?
  /// `auth_time`.
  public let authenticatedAt: Timestamp?

  private static let stringNames = [
    "iss", "sub", "nonce", "azp", "acr", "at_hash", "c_hash", "s_hash", "jti", "sid", "client_id",
  ]

  /// Checks the types. `invalid_claim_type`, with the claim's name, for a string where a time must be, an `aud` that is
  /// empty or contains anything but strings, and so on.
  public init(_ members: JSONObject) throws(JOSEError) {
    for name in Self.stringNames {
      guard let value = members[name] else { continue }
      guard value.stringValue != nil else {
        throw JOSEError(.invalidClaimType, "\(name) is not a string", claim: name)
      }
    }
    self.members = members
    audiences = try Self.audiences(members["aud"])
    expiresAt = try Self.time("exp", members)
    notBefore = try Self.time("nbf", members)
    issuedAt = try Self.time("iat", members)
    authenticatedAt = try Self.time("auth_time", members)
  }

  /// The string member `name`; nil when absent or of another type.
  public func string(_ name: String) -> String? { members[name]?.stringValue }

  private static func audiences(_ value: JSONValue?) throws(JOSEError) -> [String]? {
    guard let value else { return nil }
    if let single = value.stringValue { return [single] }
    let names = value.arrayValue?.map(\.stringValue)
    guard let names, !names.isEmpty, !names.contains(nil) else {
      throw JOSEError(.invalidClaimType, "aud is neither a string nor an array of strings", claim: "aud")
    }
    return names.compactMap { $0 }
  }

  /// A NumericDate: seconds, with or without a fraction, clamped to the range of `Timestamp`.
  private static func time(_ name: String, _ members: JSONObject) throws(JOSEError) -> Timestamp? {
    switch members[name] {
    case nil: return nil
    case .integer(let seconds)?: return Timestamp(secondsSinceEpoch: seconds)
    case .real(let seconds)? where seconds.isFinite:
      let milliseconds = (seconds * 1000).rounded(.down)
      return Timestamp(
        millisecondsSinceEpoch: Int64(exactly: milliseconds) ?? (milliseconds < 0 ? .min : .max))
    default: throw JOSEError(.invalidClaimType, "\(name) is not a number", claim: name)
    }
  }
}

extension JWTClaims: ConciseStringConvertible {
  /// The names of the claims: values may be secret.
  public var description: String {
    Concise.text(Concise.list(members.names, of: "claim"), expiresAt.map { "expires \($0)" })
  }
}
