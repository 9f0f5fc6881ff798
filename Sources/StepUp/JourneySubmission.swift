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
  var scope: CallScope
}

/// The outcome of a request to the access manager.
enum JourneyProgress: Sendable {
  /// The user has to answer.
  case waiting(JourneyState)
  /// No answer is needed any more.
  case over(JourneyOutcome)
}

extension JourneySubmission {
  /// Checks a caller's submission for the step of `state`: as many callbacks as there were, of the same types in the
  /// same order.
  init(for state: JourneyState, callbacks: [JSONValue]?, answers: JourneyAnswers) throws(JourneyError) {
    if case .begin = state.position {
      guard callbacks == nil else {
        throw JourneyError(.invalid(path: ["callbacks"]), "the journey has no callbacks yet")
      }
      self = .begin
      return
    }
    let expected = state.callbacks
    guard let given = callbacks else {
      guard let submission = answers.submission(for: state, after: nil) ?? Self.unfilled(state) else {
        throw JourneyError(.invalid(path: ["callbacks"]), "the step's callbacks want to be filled in")
      }
      self = submission
      return
    }
    guard given.count == expected.count else {
      throw JourneyError(.invalid(path: ["callbacks"]), "as many callbacks are expected as the step has")
    }
    for (index, pair) in zip(given, expected).enumerated() {
      guard pair.0["type"]?.stringValue == pair.1["type"]?.stringValue else {
        throw JourneyError(
          .invalid(path: ["callbacks", .position(index), "type"]), "the callback has another type than in the step")
      }
    }
    guard JSONWriter().write(.array(given)).count <= AuthenticateAnswer.maxBytes else {
      throw JourneyError(.invalid(path: ["callbacks"]), "the callbacks are larger than any page")
    }
    if case .authorizing = state.position {
      guard let url = given.first?["input"]?.arrayValue?.first?["value"]?.stringValue, !url.isEmpty else {
        throw JourneyError(
          .invalid(path: ["callbacks", .position(0), "input", .position(0), "value"]),
          "the URL to which the issuer led back is missing")
      }
      self = .authorized(callback: url)
      return
    }
    if let submission = answers.returning(to: state) {
      guard case .callbacks(_, let parameters) = submission else {
        self = submission
        return
      }
      self = .callbacks(given, parameters: parameters)
      return
    }
    self = .callbacks(given, parameters: [])
  }

  /// Returns the step unchanged, where nothing is to be filled in: after a wait, a redirect, a text.
  private static func unfilled(_ state: JourneyState) -> JourneySubmission? {
    guard case .step = state.position,
      state.callbacks.allSatisfy({ JourneyCallback($0)?.inputNames.isEmpty ?? false })
    else { return nil }
    return .callbacks(state.callbacks, parameters: [])
  }
}

extension JourneyAnswers {
  /// Returns the submission for the step of `next` without a question to the user; nil when there is no answer, or when
  /// it is one of those `answered` already: a wrong answer is not sent twice. Waits are. `answered` nil: the caller
  /// requests it.
  func submission(for next: JourneyState, after answered: Set<[String]>?) -> JourneySubmission? {
    let callbacks = next.callbacks
    let isWait = callbacks.contains { JourneyCallback($0)?.waitTime != nil }
    if let answered, !isWait, answered.contains(next.shape) { return nil }
    if let submission = returning(to: next) { return submission }
    guard case .step = next.position, !isEmpty || isWait && answered == nil, let filled = filling(callbacks) else {
      return nil
    }
    return .callbacks(filled, parameters: [])
  }

  /// Reads the answer to a step with a redirect of the user.
  func returning(to state: JourneyState) -> JourneySubmission? {
    switch state.position {
    case .begin: return nil
    case .authorizing: return self[Self.redirect]?.stringValue.map { .authorized(callback: $0) }
    case .step(let step):
      let types = step.callbacks.compactMap { JourneyCallback($0)?.type }
      if types.contains(Self.suspended), let text = self[Self.suspended]?.stringValue {
        return JourneySubmission.suspendedID(in: text).map { .suspended(id: $0) }
      }
      guard types.contains(Self.redirect), let url = self[Self.redirect]?.stringValue,
        let parameters = JourneySubmission.parameters(of: url)
      else { return nil }
      return .callbacks(step.callbacks, parameters: parameters)
    }
  }
}
