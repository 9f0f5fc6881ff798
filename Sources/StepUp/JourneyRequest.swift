public import AccessManagement
public import PosternSupport
public import Sessions

/// The purpose of a journey.
public struct JourneyRequest: Sendable {
  let phases: [JourneyPhase]
  /// The session to step up; nil for a new login.
  let session: SessionHandle?
  /// Whether no session is to be made.
  let isWithoutSession: Bool
  /// Whether the single sign-on token is from a caller.
  let isOfGivenToken: Bool
  /// Whether the user has to authenticate although they are logged in.
  let isForced: Bool
  /// A tag of the caller, returned when the journey is completed.
  public var tag: String?

  /// A login by the tree of that name; nil: the realm's default. It makes a session, unless `withoutSession`.
  public static func login(tree: String?, withoutSession: Bool = false, forced: Bool = false) -> JourneyRequest {
    JourneyRequest(phases: [.tree(tree)], session: nil, isWithoutSession: withoutSession, isForced: forced)
  }

  /// Continues an authorization that the access manager has paused, whose user is to have a session.
  public static func signOn(_ authorization: SuspendedAuthorization) -> JourneyRequest {
    JourneyRequest(phases: JourneyPhase.phases(releasing: authorization), session: nil, isOfGivenToken: true)
  }

  /// Steps `session` up by `advices`. Nil when no user can satisfy one of them, or there are none.
  public static func stepUp(_ session: SessionHandle, advices: [PolicyAdvice]) -> JourneyRequest? {
    let phases = JourneyPhase.phases(for: advices)
    let isPossible = advices.allSatisfy {
      $0.isCompositeAdvice || $0.type == PolicyAdvice.Name.insufficientUserAuthentication
    }
    guard isPossible, !phases.isEmpty else { return nil }
    return JourneyRequest(phases: phases, session: session)
  }

  private init(
    phases: [JourneyPhase], session: SessionHandle?, isWithoutSession: Bool = false, isForced: Bool = false,
    isOfGivenToken: Bool = false
  ) {
    self.phases = phases
    self.session = session
    self.isWithoutSession = isWithoutSession
    self.isForced = isForced
    self.isOfGivenToken = isOfGivenToken
  }

  private init(_ other: JourneyRequest, phases: [JourneyPhase]) {
    self.init(
      phases: phases, session: other.session, isWithoutSession: other.isWithoutSession, isForced: other.isForced,
      isOfGivenToken: other.isOfGivenToken)
  }

  /// Returns the request for resuming a suspended journey instead of starting one.
  func resuming(_ id: String) -> JourneyRequest {
    var request = JourneyRequest(self, phases: [.suspended(id: id)])
    request.tag = tag
    return request
  }

  /// Checks in advance what would fail in the end, before the user has to answer.
  func check(at issuer: SessionIssuer) throws(JourneyError) {
    let isBrowsers = phases.contains { if case .authorization = $0 { true } else { false } }
    let isManagers = phases.contains { if case .authorization = $0 { false } else { true } }
    guard !isManagers || issuer.accessManager != nil else {
      throw JourneyError.grantNotSupported("the issuer is configured without an access manager")
    }
    guard !(isBrowsers || !isWithoutSession) || issuer.redirectURI != nil else {
      throw JourneyError.grantNotSupported("the issuer is configured without redirectUri")
    }
  }
}

extension JourneyRequest: ConciseStringConvertible {
  /// The purpose: never the advice.
  public var description: String {
    Concise.text(
      session.map { "step-up of session \($0)" } ?? "login", isWithoutSession ? "without a session" : nil,
      isForced ? "forced" : nil)
  }
}
