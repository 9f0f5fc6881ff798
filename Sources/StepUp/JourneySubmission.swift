import HTTPMessages
import OAuthClient
import PosternJSON
import PosternSupport
import Sessions

/// The next submission to the access manager.
enum JourneySubmission: Sendable {
  /// Starts the phase.
  case begin
  /// The callbacks of a step, filled in; with the parameters of the URL to which a redirect led back.
  case callbacks([JSONValue], parameters: [(name: String, value: String)])
  /// The parameter in the link of an e-mail.
  case suspended(id: String)
  /// The URL to which the issuer sent the user back.
  case authorized(callback: String)

  /// The parameters that are passed on from the URL of a redirect (SelectIdPCallback, social login, SAML).
  private static let redirectParameters: Set<String> = [
    "code", "state", "iss", "RelayState", "responsekey", "form_post_entry", "error", "error_description", "scope",
    "oauth_token", "oauth_verifier",
  ]

  /// The parameters of the URL in a redirect's answer.
  static func parameters(of url: String) -> [(name: String, value: String)]? {
    guard url.utf8.count <= 16 << 10 else { return nil }
    let query = url.prefix(beforeBytes: "#").split(atByte: "?", maxSplits: 1).dropFirst().first ?? ""
    return FormEncoding.decode(String(query))?.filter { redirectParameters.contains($0.name) }
  }

  /// The identifier in a resume URI, or the identifier itself.
  static func suspendedID(in text: String) -> String? {
    guard (1...(16 << 10)).contains(text.utf8.count), text.utf8.allSatisfy({ $0 > 0x20 && $0 < 0x7F }) else {
      return nil
    }
    guard text.utf8.contains(UInt8(ascii: "?")) || text.utf8.contains(UInt8(ascii: "/")) else { return text }
    let query = text.split(atByte: "?", maxSplits: 1).dropFirst().first ?? ""
    let parts = query.split(atByte: "#").flatMap { $0.split(atByte: "&") }
    return parts.lazy.compactMap { FormEncoding.decode(String($0))?.first }.first { $0.name == "suspendedId" }?.value
  }
}

/// The parameters of one call.
struct JourneyWalk: Sendable {
  let issuer: SessionIssuer
  let answers: JourneyAnswers
  let deadline: Deadline
  let trace: TraceContext?
}

/// The outcome of a request to the access manager.
enum JourneyProgress: Sendable {
  /// The user has to answer.
  case waiting(JourneyState)
  /// No answer is needed any more.
  case over(JourneyOutcome)
}
