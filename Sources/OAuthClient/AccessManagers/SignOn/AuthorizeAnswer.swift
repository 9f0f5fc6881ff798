package import HTTPMessages
import PosternJSON
import PosternSupport

/// An access manager's answer to an authorization request with a single sign-on token (RFC 6749 section 4.1.2).
package enum AuthorizeAnswer {
  /// The redirect back to the client, not opened.
  case callback(AuthorizationCallback)
  /// The user has to do something first; where the request goes then.
  case advice([PolicyAdvice], goingOn: HTTPURL)

  /// Codes of what leads elsewhere, which is not followed.
  package static let strayCodes: Set<String> = ["redirect_uri_mismatch", "invalid_goto"]

  /// Everything else is an error; that the single sign-on token is not valid any more is a final one.
  package init(
    _ response: HTTPResponse, from url: HTTPURL, to request: SignOnRequest, of manager: AccessManager
  ) throws(AuthorizationError) {
    let isOver = AuthorizationError("the single sign-on token is not good any more", "login_required", isFinal: true)
    switch response.status {
    case 301, 302, 303, 307:
      let locations = response.fields.values(of: "Location")
      guard locations.count == 1 else {
        throw AuthorizationError("the access manager redirects nowhere", "missing_location")
      }
      if RedirectURI(request.redirectURI).isLocation(of: locations[0]) {
        guard let callback = AuthorizationCallback(locations[0]) else {
          throw AuthorizationError("the access manager's redirect cannot be read", "invalid_redirect")
        }
        self = .callback(callback)
        return
      }
      if let target = try? url.resolving(reference: locations[0]), target.origin == url.origin {
        switch Self.page(target, locations[0]) {
        case .login: throw isOver
        case .advice:
          self = try Self.advice(response, target, from: url, to: request, of: manager)
          return
        case .other: break
        }
      }
      throw AuthorizationError("the access manager redirects elsewhere", "redirect_uri_mismatch")
    // A gateway before the access manager may return 401, too: only the access manager's own body counts.
    case 401 where Self.reportsSessionIsOver(response.body): throw isOver
    case 200: throw Self.interaction
    default:
      let error = OAuthAnswer(response).failure(of: "access manager's authorization endpoint")
      guard case .rejected(let oauth) = error.kind else { throw AuthorizationError(error) }
      throw AuthorizationError(error.detail, oauth?.code ?? "authorization_refused")
    }
  }

  private static let interaction = AuthorizationError(
    "the access manager wants the user to do something", "interaction_required")

  /// The advice of a redirect to the login page, where the user can satisfy it and the request can be continued.
  private static func advice(
    _ response: HTTPResponse, _ target: HTTPURL, from url: HTTPURL, to request: SignOnRequest, of manager: AccessManager
  ) throws(AuthorizationError) -> AuthorizeAnswer {
    let recognizer = AdviceRecognizer(scope: .denials, accessManager: manager.baseURL)
    guard let advices = recognizer.finding(in: response, from: url)?.advices,
      advices.allSatisfy(\.isCompositeAdvice)
    else { throw interaction }
    let members = FormEncoding.decode(target.query ?? "") ?? []
    let targets = members.filter { $0.name == "goto" }.map(\.value)
    guard targets.count == 1, let location = request.location(in: targets[0], from: url) else {
      throw AuthorizationError(
        "the access manager's goto leads elsewhere than to the suspended request", "invalid_goto")
    }
    return .advice(advices, goingOn: location)
  }

  private static func reportsSessionIsOver(_ body: [UInt8]) -> Bool {
    let answer = try? JSONParser(maxBytes: AccessManagerClient.maxBytes, maxDepth: 16).parse(body)
    return answer?["code"]?.integerValue == 401 || endsSession(answer?["error"]?.stringValue)
  }

  /// The purpose of a page of the access manager.
  private enum Page {
    /// The user has to log in.
    case login
    /// The user has to do more; the login is as good as it was.
    case advice
    /// Any other page, perhaps of a server in maintenance: no reason to log a user out.
    case other
  }

  private static func page(_ target: HTTPURL, _ location: String) -> Page {
    let query = location.prefix(beforeBytes: "#").split(atByte: "?", maxSplits: 1).dropFirst().first ?? ""
    let names = FormEncoding.decode(String(query))?.map(\.name) ?? []
    if names.contains("authIndexType") { return .advice }
    let isLoginPage = target.path.split(atByte: "/").contains { $0 == "XUI" || $0 == "UI" }
    return isLoginPage || names.contains("goto") ? .login : .other
  }

  /// Whether an error in the redirect means that the user has to log in (OpenID Connect Core section 3.1.2.6).
  package static func endsSession(_ code: String?) -> Bool { code == "login_required" || code == "invalid_session" }
}
