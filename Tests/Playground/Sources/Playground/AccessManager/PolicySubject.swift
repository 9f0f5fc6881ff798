import PosternJSON
import PosternSupport

/// The subject of a policy decision.
enum PolicySubject: Sendable {
  /// A user who is signed on.
  case session(ProviderSession)
  /// A session that is over.
  case inactive
  /// A user whom the claims of the request name.
  case claims(sub: String)

  /// The subject of a JWT. Neither its signature nor its lifetime is checked: as measured at the vendor's service.
  static func unverified(_ text: String) -> PolicySubject? {
    let parts = text.split(separator: ".", omittingEmptySubsequences: false)
    guard parts.count == 3, let payload = Base64URL.decode(String(parts[1])),
      let sub = (try? JSONParser(maxDepth: 16).parse(payload))?["sub"]?.stringValue
    else { return nil }
    return .claims(sub: sub)
  }
}
