public import OAuthClient
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
  /// The part of the caller's program that it comes from. The journeys of one part displace none of another.
  package var origin = LoginOrigin()

  /// A login by the tree of that name; nil: the realm's default. It makes a session, unless `withoutSession`.
  public static func login(tree: String?, withoutSession: Bool = false, forced: Bool = false) -> JourneyRequest {
    JourneyRequest(phases: [.tree(tree)], session: nil, isWithoutSession: withoutSession, isForced: forced)
  }

  /// Continues an authorization that the access manager has paused, whose user is to have a session.
  public static func signOn(_ authorization: SuspendedAuthorization) -> JourneyRequest {
    JourneyRequest(phases: JourneyPhase.phases(releasing: authorization), session: nil, isOfGivenToken: true)
  }

  /// Logs a user in by `advices` of an access manager, which makes a session. Nil when no login can satisfy one of them,
  /// or there are none.
  public static func login(advices: [PolicyAdvice]) -> JourneyRequest? {
    guard !advices.isEmpty, advices.allSatisfy(\.isCompositeAdvice) else { return nil }
    return JourneyRequest(phases: JourneyPhase.phases(for: advices), session: nil)
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
    request.origin = origin
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

/// One login of a journey; an answer may require several.
enum JourneyPhase: Sendable {
  /// A chain or tree of the access manager's, or its default one.
  case tree(String?)
  /// A journey that is suspended until its user follows a link.
  case suspended(id: String)
  /// Advices of the access manager's policies.
  case composite([PolicyAdvice])
  /// The last requirement of a paused authorization, which is continued after it.
  case releasing([PolicyAdvice], SuspendedAuthorization)
  /// An authorization with a code, with the requirements of RFC 9470.
  case authorization(PolicyAdvice)

  /// Returns the phases that satisfy `advices`: a transaction alone and last, since its advice is valid once.
  static func phases(for advices: [PolicyAdvice]) -> [JourneyPhase] {
    let composite = advices.filter { $0.isCompositeAdvice && !$0.isTransaction }
    let authorizations = advices.filter { $0.type == PolicyAdvice.Name.insufficientUserAuthentication }
    return authorizations.map { .authorization($0) } + (composite.isEmpty ? [] : [.composite(composite)])
      + advices.filter(\.isTransaction).map { .composite([$0]) }
  }

  /// The approximate size in memory.
  var byteCount: Int {
    switch self {
    case .tree(let name): name?.utf8.count ?? 0
    case .suspended(let id): id.utf8.count
    case .composite(let advices): advices.reduce(0) { $0 + $1.byteCount }
    case .releasing(let advices, _): advices.reduce(SignOnRequest.maxBytes) { $0 + $1.byteCount }
    case .authorization(let advice): advice.byteCount
    }
  }

  /// Returns the phases after which a suspended authorization can be continued.
  static func phases(releasing authorization: SuspendedAuthorization) -> [JourneyPhase] {
    var phases = phases(for: authorization.advices)
    guard case .composite(let last)? = phases.popLast() else { return [] }
    return phases + [.releasing(last, authorization)]
  }

  /// The access manager's advices that it satisfies.
  var advices: [PolicyAdvice]? {
    switch self {
    case .composite(let advices), .releasing(let advices, _): advices
    case .tree, .suspended, .authorization: nil
    }
  }

  /// The single sign-on token of the authorization that waits for it.
  var releasedToken: Secret<String>? {
    if case .releasing(_, let authorization) = self { authorization.token } else { nil }
  }

  /// Whether an authorization waits for it.
  var isReleasing: Bool { if case .releasing = self { true } else { false } }

  /// The transaction it is about.
  var txId: String? { advices?.lazy.compactMap(\.txId).first }
}
