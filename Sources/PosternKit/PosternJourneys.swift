public import AuthEngine
import HTTPMessages
import LoopbackLogin
import PosternConfiguration
public import PosternSupport

/// Authentications by access managers' trees, and step-up by policy advice.
public struct PosternJourneys: Sendable {
  let running: RunningEngine

  private var engine: PosternEngine { running.engine }
  private var uid: UInt32 { running.uid }

  /// Has the user of a session satisfy policy advice, through the callbacks of the access manager or a login in the
  /// browser (RFC 9470).
  ///
  /// - Parameters:
  ///   - advices: The advices of a fetch (`ResourceError.stop`), or of `advices(in:)`.
  ///   - session: The session to step up; nil: the user is not logged in, and the advice is a login, which makes a
  ///     session.
  ///   - issuer: Without a session: where to log in; nil: the only issuer with a client.
  ///   - answers: Answers that are known already, by callback.
  /// - Returns: a node with callbacks to fill, which continues with `next()`, or the end.
  public func authenticate(
    with advices: [PolicyAdvice], session: SessionHandle? = nil, at issuer: String? = nil,
    answers: JourneyAnswers = JourneyAnswers()
  ) async throws(JourneyError) -> JourneyNode.Outcome {
    let (request, server): (JourneyRequest?, SessionIssuer)
    if let session {
      let found = try await sessionToStepUp(session)
      (request, server) = (.stepUp(found.handle, advices: advices), found.issuer)
    } else {
      (request, server) = (.login(advices: advices), try sessionIssuer(issuer))
    }
    guard let request else { throw Self.notRecognised }
    return try await engine.journeys.start(
      request, at: server, answers: answers, lookup: running.sessionIssuer, in: running.scope)
  }

  private func sessionIssuer(_ name: String?) throws(JourneyError) -> SessionIssuer {
    do throws(SessionError) {
      return try running.sessionIssuer(running.issuerName(name))
    } catch {
      throw JourneyError(error)
    }
  }

  /// Logs a user in through a tree of the access manager behind an issuer (nil: the only one with a client); without a
  /// tree, through the realm's default.
  public func authenticate(
    at issuer: String? = nil, tree: String? = nil, answers: JourneyAnswers = JourneyAnswers()
  ) async throws(JourneyError) -> JourneyNode.Outcome {
    return try await engine.journeys.start(
      .login(tree: tree), at: try sessionIssuer(issuer), answers: answers, lookup: running.sessionIssuer,
      in: running.scope)
  }

  /// Has the user of a session satisfy advice in the browser of this machine (RFC 9470), and waits until they have; the
  /// issuer's `redirectUri` must be a loopback address. Advice of an access manager needs no browser: its first node is
  /// returned at once.
  ///
  /// - Parameters:
  ///   - advices: The advices of a fetch.
  ///   - session: The session to step up; nil, nobody's, is an error.
  ///   - timeout: How long to wait for the user.
  ///   - open: Shows the URL to the user; by default in the desktop's browser, where there is one.
  /// - Returns: the end of the journey, or a node whose callbacks the program shows.
  public func stepUpInBrowser(
    with advices: [PolicyAdvice], session: SessionHandle? = nil, timeout: Duration = .seconds(300),
    open: @escaping @Sendable (_ url: String) -> Void = PosternSessions.openBrowser
  ) async throws(JourneyError) -> JourneyNode.Outcome {
    let found = try await sessionToStepUp(session)
    guard advices.contains(where: { $0.type == PolicyAdvice.Name.insufficientUserAuthentication }) else {
      return try await authenticate(with: advices, session: found.handle)
    }
    guard let redirect = found.issuer.redirectURI.flatMap({ LoopbackRedirect($0) }) else {
      throw JourneyError(.grantNotSupported("the issuer's redirectUri is no loopback address"))
    }
    let browser: BrowserLogin
    do throws(SessionError) {
      browser = try BrowserLogin(at: redirect)
    } catch {
      throw JourneyError(error)
    }
    guard let request = JourneyRequest.stepUp(found.handle, advices: advices) else { throw Self.notRecognised }
    var outcome = try await engine.journeys.start(
      request, at: found.issuer.comingBack(to: browser.redirectURI),
      lookup: { [running, uri = browser.redirectURI] (name) throws(SessionError) in
        try running.sessionIssuer(name).comingBack(to: uri)
      }, in: running.scope)
    let deadline = Deadline(in: timeout, on: SystemClock())
    while case .node(let node) = outcome, let redirect = node.first(RedirectCallback.self) {
      open(redirect.redirectURL)
      outcome = try await browser.result(by: deadline, failing: JourneyError.init, isStray: Self.isStray) {
        (url) async throws(JourneyError) in
        var answered = node
        try answered.fill(RedirectCallback.self) { $0.callbackURL = Secret(url) }
        return try await answered.next()
      }
    }
    return outcome
  }

  /// Whether the error is that of a callback that any page can open. The step remains valid then.
  private static func isStray(_ error: JourneyError) -> Bool {
    switch error.kind {
    case .invalid: true
    case .session(let error): BrowserLogin.isStray(error)
    default: false
    }
  }

  /// The policy advices in the response of a resource, by the rules of a configured issuer; empty where there are none.
  public func advices(in response: ResourceResponse, issuer: String? = nil) throws(SessionError) -> [PolicyAdvice] {
    let configured = try running.issuer(running.issuerName(issuer)).values
    let recognizer = AdviceRecognizer(scope: .everyAnswer, accessManager: configured.accessManager?.baseURL)
    let answer = HTTPResponse(status: response.status, fields: response.fields, body: response.body)
    return recognizer.finding(in: answer, from: response.url)?.advices ?? []
  }

  private static let notRecognised = JourneyError(
    .adviceNotRecognised, "none of the advices is one that this user can satisfy here")

  /// The session to step up, with its issuer.
  private func sessionToStepUp(
    _ given: SessionHandle?
  ) async throws(JourneyError) -> (handle: SessionHandle, issuer: SessionIssuer) {
    do throws(SessionError) {
      guard let given else { throw SessionError.sessionMissing }
      let issuer = try await engine.sessions.session(given, in: running.scope).issuer
      return (given, try running.sessionIssuer(issuer))
    } catch {
      throw JourneyError(error)
    }
  }
}

extension SessionIssuer {
  /// The issuer with the redirect URI at which this program listens: a configured one without a port stands for any.
  fileprivate func comingBack(to redirectURI: String) -> SessionIssuer {
    SessionIssuer(
      issuer: issuer, tokens: tokens, keys: keys, scope: scope, implicit: implicit, accessManager: accessManager,
      redirectURI: redirectURI)
  }
}

extension PosternJourneys: ConciseStringConvertible {}
