import PosternJSON
import PosternSupport

/// Who a policy is asked about.
enum PolicySubject: Sendable {
  /// Somebody who is signed on.
  case session(ProviderSession)
  /// Nobody any more.
  case inactive
  /// Somebody of whom the evaluator says so.
  case claims(sub: String)

  /// The subject of a JWT, whose signature and lifetime nobody looks at: as measured at the vendor's service.
  static func unverified(_ text: String) -> PolicySubject? {
    let parts = text.split(separator: ".", omittingEmptySubsequences: false)
    guard parts.count == 3, let payload = Base64URL.decode(String(parts[1])),
      let sub = (try? JSONParser(maxDepth: 16).parse(payload))?["sub"]?.stringValue
    else { return nil }
    return .claims(sub: sub)
  }
}
