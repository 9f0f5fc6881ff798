import PosternJSON
public import PosternSupport

/// An issuer's requirement on a user before it gives a token: another login, a consent, a stronger authentication.
///
/// A program that has the user's token from a client of its own passes the requirement to that client, in the
/// `challenge` of its 401.
public struct RequiredInteraction: Sendable, Hashable {
  /// Errors that mean it (OpenID Connect Core section 3.1.2.6, RFC 9470 section 3).
  private static let codes: Set<String> = [
    "account_selection_required", "consent_required", "insufficient_user_authentication", "interaction_required",
    "login_required",
  ]
  /// Entra's reasons of an `invalid_grant` that mean it.
  private static let subcodes: Set<String> = [
    "additional_action", "basic_action", "consent_required", "message_only", "user_password_expired",
  ]
  static let maxClaimsBytes = 8 << 10

  /// The claims request (OpenID Connect Core section 5.5) as JSON text, as the issuer sent it; nil where there is none,
  /// or it is none: longer than 8 KiB, or no JSON object.
  public let claims: String?
  /// The required authentication contexts (RFC 9470 section 3), separated by spaces.
  public let acrValues: String?
  /// The age of the login that is accepted, in seconds (RFC 9470 section 3).
  public let maxAge: Int?
  private let isStepUp: Bool

  /// Reads an error response with that `error`; nil where it requires nothing of the user.
  init?(_ document: JSONValue, code: String) {
    claims = Self.claims(document["claims"])
    let subcode = document["suberror"]?.stringValue
    guard
      Self.codes.contains(code)
        || code == "invalid_grant" && (claims != nil || subcode.map(Self.subcodes.contains) == true)
    else { return nil }
    isStepUp = code == "insufficient_user_authentication"
    acrValues = document["acr_values"]?.stringValue.flatMap { Self.isQuotable($0) ? $0 : nil }
    switch document["max_age"] {
    case .integer(let seconds)? where (0...Int64(Int32.max)).contains(seconds): maxAge = Int(seconds)
    default: maxAge = nil
    }
  }

  /// A `WWW-Authenticate` value for the client that sent the inbound token; nil where the issuer named nothing that a
  /// client could act on.
  public var challenge: String? {
    if let claims {
      return #"Bearer error="insufficient_claims", claims="\#(Base64.string(Array(claims.utf8)))""#
    }
    guard isStepUp else { return nil }
    let members = [acrValues.map { #", acr_values="\#($0)""# }, maxAge.map { ", max_age=\($0)" }]
    return #"Bearer error="insufficient_user_authentication""# + members.compactMap { $0 }.joined()
  }

  private static func claims(_ value: JSONValue?) -> String? {
    guard let text = claimsText(value), text.utf8.count <= maxClaimsBytes,
      (try? JSONParser(maxBytes: maxClaimsBytes, maxDepth: 16).parse(text))?.objectValue != nil
    else { return nil }
    return text
  }

  /// Returns the text of a `claims` member: Entra sends it as a string, others may send the object.
  static func claimsText(_ value: JSONValue?) -> String? {
    if let text = value?.stringValue { return text }
    return value?.objectValue.map { JSONWriter().string(.object($0)) }
  }

  /// Whether `text` may be in a quoted string as it is (RFC 9110 section 5.6.4).
  private static func isQuotable(_ text: String) -> Bool {
    (1...256).contains(text.utf8.count)
      && text.utf8.allSatisfy { (0x20..<0x7F).contains($0) && $0 != UInt8(ascii: "\"") && $0 != UInt8(ascii: "\\") }
  }
}

extension RequiredInteraction: ConciseStringConvertible {
  /// Which parts there are: the issuer chose them for one user.
  public var description: String {
    Concise.text(
      "interaction required", claims.map { _ in "with claims" }, acrValues.map { _ in "with acr_values" },
      maxAge.map { _ in "with max_age" })
  }
}
