public import PosternJSON
public import PosternSupport
public import Sessions

/// Who a decision is about.
public struct DecisionSubject: Sendable {
  /// The kind of subject; nil: the decision point's own default.
  public let type: String?
  /// The identifier.
  public let id: String
  /// What else is told about the subject.
  public let properties: JSONObject
  /// Whose decisions these are: no other user's calls are answered with them.
  public let owner: UInt32
  /// The session, where the subject is a session's user.
  public let session: FetchSession?
  /// What of the session matters for a decision, and changes with a step-up.
  let sessionMarks: [String]
  /// When the session ends.
  public let expiresAt: Timestamp?

  /// A subject that the caller names.
  public init(type: String? = nil, id: String, properties: JSONObject = JSONObject(), owner: UInt32) {
    self.type = type
    self.id = id
    self.properties = properties
    self.owner = owner
    session = nil
    sessionMarks = []
    expiresAt = nil
  }

  /// The user of a session; `claims` names what is told of its claims.
  public init(_ session: Session, claims: [String] = [], through access: FetchSession) {
    type = nil
    id = session.subject ?? ""
    var properties = JSONObject()
    for name in claims { if let value = session.claims?[name] { properties[name] = value } }
    self.properties = properties
    owner = access.owner
    self.session = access
    sessionMarks = [
      session.handle.text, session.acr ?? "", "\(session.authenticatedAt?.millisecondsSinceEpoch ?? 0)",
      session.scope ?? "",
    ]
    expiresAt = session.expiresAt
  }
}
