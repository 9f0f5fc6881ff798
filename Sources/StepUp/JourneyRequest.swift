public import AccessManagement
public import Sessions

/// What a journey is for.
public struct JourneyRequest: Sendable {
  let phases: [JourneyPhase]
  /// The session whose user walks, and which is stepped up; nil: a new login.
  let session: SessionHandle?
  /// Whether no session is to come of it.
  let isWithoutSession: Bool
  /// Whether the single sign-on token is one that a caller gave.
  let isOfGivenToken: Bool
  /// Whether the user is asked although they are logged in.
  let isForced: Bool
  /// Whatever the caller wants to find again when the journey is over.
  public var tag: String?

  /// A login by the tree of that name; nil: the realm's default. It makes a session, unless `withoutSession`.
  public static func login(tree: String?, withoutSession: Bool = false, forced: Bool = false) -> JourneyRequest {
    JourneyRequest(phases: [.tree(tree)], session: nil, isWithoutSession: withoutSession, isForced: forced)
  }

  /// Goes on with an authorization that the access manager holds up, whose user is to have a session.
  public static func signOn(_ held: HeldAuthorization) -> JourneyRequest {
    JourneyRequest(phases: JourneyPhase.phases(releasing: held), session: nil, isOfGivenToken: true)
  }

  /// Steps `session` up, as `advices` ask. Nil when there is one among them that nobody can satisfy, or none at all.
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

  /// The request, to go on with what was suspended instead of beginning.
  func resuming(_ id: String) -> JourneyRequest {
    var request = JourneyRequest(self, phases: [.suspended(id: id)])
    request.tag = tag
    return request
  }
}
