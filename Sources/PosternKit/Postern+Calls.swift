public import AuthEngine
import PosternConfiguration
public import PosternJSON
import PosternSupport

extension Postern {
  /// Validates an ID token (OpenID Connect Core section 3.1.3.7) by the keys and rules of a configured issuer.
  ///
  /// - Parameters:
  ///   - idToken: The token; nil is an invalid one.
  ///   - issuer: The issuer's name in the configuration; nil: the only one with a client.
  ///   - nonce: The nonce of the authorization request.
  ///   - authorizationCode: The code, to compare with `c_hash`.
  ///   - accessToken: The access token, to compare with `at_hash`.
  ///   - flow: How the token was obtained.
  /// - Throws: `SessionError` for an issuer that is not configured; `KeySetError` when no verdict is possible, because
  ///   the issuer's keys are not available. An invalid token is a verdict.
  public func validateIDToken(
    _ idToken: String?, issuer: String? = nil, nonce: String? = nil, authorizationCode: String? = nil,
    accessToken: String? = nil, flow: TokenFlow = .code
  ) async throws -> TokenVerdict {
    let configured = try running.issuer(running.issuerName(issuer)).values
    let expectations = IDTokenExpectations(
      clientID: try running.clientID(of: configured), nonce: nonce,
      authorizationCode: authorizationCode.map { Secret($0) }, accessToken: accessToken.map { Secret($0) }, flow: flow)
    return try await validateIDToken(idToken, issuer: configured.issuer.name, expecting: expectations)
  }

  /// Validates an ID token by the keys and rules of a configured issuer, and the requirements of this call.
  public func validateIDToken(
    _ idToken: String?, issuer: String, expecting expectations: IDTokenExpectations
  ) async throws -> TokenVerdict {
    let (configured, keys) = try running.issuer(issuer)
    return try await engine.validators.idTokens.validate(
      idToken, expecting: expectations, configuration: configured.tokens, keys: keys, in: running.scope)
  }

  /// Adobe Pass by a configured provider (`kind: adobe-pass`); nil: the only one. Throws `invalidParameter` for none.
  public func pass(_ name: String? = nil) throws(PassError) -> PosternPass { try PosternPass(name, running) }

  /// Has a session's user satisfy policy advice. Without a session the advice is a login. See
  /// `PosternJourneys.authenticate(with:session:at:answers:)`.
  public func authenticate(
    with advices: [PolicyAdvice], session: SessionHandle? = nil, at issuer: String? = nil,
    answers: JourneyAnswers = JourneyAnswers()
  ) async throws(JourneyError) -> JourneyNode.Outcome {
    try await journeys.authenticate(with: advices, session: session, at: issuer, answers: answers)
  }

  /// The same for one advice.
  public func authenticate(
    with advice: PolicyAdvice, session: SessionHandle? = nil, at issuer: String? = nil,
    answers: JourneyAnswers = JourneyAnswers()
  ) async throws(JourneyError) -> JourneyNode.Outcome {
    try await journeys.authenticate(with: [advice], session: session, at: issuer, answers: answers)
  }

  /// Evaluates the entitlements of a session's user to `resources` at a configured decision point.
  ///
  /// It fails closed: what cannot be decided is a response without permits, with the reason in `status`. Nothing is
  /// thrown.
  ///
  /// - Parameters:
  ///   - resources: The resources: ids, or MRSS fragments.
  ///   - decisionPoint: The decision point's name in the configuration; nil: the only one.
  ///   - session: The user's session, where the decision point has an issuer; nil: nobody is logged in, and the
  ///     response is the failure `authentication_session_missing`.
  ///   - context: Further attributes for the decision point.
  public func preauthorize(
    _ resources: [String], at decisionPoint: String? = nil, session: SessionHandle? = nil,
    context: JSONObject = JSONObject()
  ) async -> PreauthorizeResponse {
    await preauthorize(
      PreauthorizeRequest(resources: resources), at: decisionPoint, session: session, context: context)
  }

  /// The same for a request, which may switch caches off; `subject` names the subject where the decision point has no
  /// issuer.
  public func preauthorize(
    _ request: PreauthorizeRequest, at decisionPoint: String? = nil, session: SessionHandle? = nil,
    subject given: DecisionSubject? = nil, context: JSONObject = JSONObject()
  ) async -> PreauthorizeResponse {
    let point: DecisionPoint
    switch running.values.decisionPoint(decisionPoint) {
    case .success(let found): point = found
    case .failure(let error): return .failure(.decisionPointUnknown(error.reason))
    }
    if let error = point.provider.contextError(in: context) {
      return .failure(.requestorNotConfigured("context.\(error.member) \(error.reason)"), at: point)
    }
    do throws(SessionError) {
      let subjects = SessionSubjects(engine: engine, uid: uid)
      let subject: DecisionSubject
      switch try await running.subject(given, session, at: point) {
      case .success(let found): subject = found
      case .failure(let error): return .failure(error.status, at: point)
      }
      let response = await engine.preauthorizer.preauthorize(
        request, for: subject, context: context, at: point, in: running.scope)
      // A user who logs out during the request to the decision point gets no permit afterwards.
      let isFresh = response.decisions.contains { $0.source != .local }
      let end = isFresh ? try await subjects.end(of: subject, in: running.scope) : nil
      return end.map { .failure($0.status, at: point) } ?? response
    } catch {
      return .failure(SessionSubjects.status(of: error) ?? .sessionMissing(error.detail), at: point)
    }
  }

  /// The decisions of a configured decision point (nil: the only one) by the name and in the shape of Adobe's SDKs; see
  /// `preauthorize`. It is good for as long as the program runs, and is by the configuration of each request.
  ///
  /// - Parameters:
  ///   - decisionPoint: The decision point's name in the configuration; nil: the only one.
  ///   - session: The user's session, where the decision point has an issuer; nil: the only live user session there at
  ///     the time of each request, as on a phone. A program with several users names it.
  ///   - subject: The subject, where the decision point has no issuer.
  /// - Throws: when the decision point is not configured.
  public func accessEnabler(
    at decisionPoint: String? = nil, session: SessionHandle? = nil, subject: DecisionSubject? = nil
  ) throws(SessionError) -> AccessEnabler {
    let point: DecisionPoint
    switch running.values.decisionPoint(decisionPoint) {
    case .success(let found): point = found
    case .failure(let error): throw .invalid(error.reason, path: ["decisionPoint"])
    }
    return AccessEnabler(decisionPoint: point) { [self, name = point.name] request in
      do throws(SessionError) {
        let user = session == nil && subject == nil ? try await onlyUser(at: name) : session
        return await preauthorize(request, at: name, session: user, subject: subject)
      } catch {
        return .failure(SessionSubjects.status(of: error) ?? .sessionMissing(error.detail), at: point)
      }
    }
  }

  /// The only live user session at the issuer of a decision point; nil where there is none.
  private func onlyUser(at decisionPoint: String) async throws(SessionError) -> SessionHandle? {
    guard case .success(let point) = running.values.decisionPoint(decisionPoint), let issuer = point.settings.issuer
    else { return nil }
    return try await sessions.only(.user, at: issuer)
  }

  /// Removes cached decisions; returns how many there were.
  @discardableResult
  public func invalidateDecisions(session: SessionHandle? = nil) -> Int {
    engine.preauthorizer.forget(DecisionSelection(uid: uid, session: session))
  }
}
