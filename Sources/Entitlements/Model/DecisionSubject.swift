public import PosternJSON
public import PosternSupport
public import Sessions

/// The subject of a decision.
public struct DecisionSubject: Sendable {
  /// The type of subject; nil for the decision point's default.
  public let type: String?
  /// The identifier.
  public let id: String
  /// Further properties of the subject.
  public let properties: JSONObject
  /// The uid that the decisions belong to: no other uid's calls get them from the cache.
  public let uid: UInt32
  /// The session, where the subject is a session's user.
  public let session: SessionRef?
  /// The parts of the session that matter for a decision, and change with a step-up.
  let sessionMarks: [String]
  /// The expiry of the session.
  public let expiresAt: Timestamp?

  /// A subject named by the caller.
  public init(type: String? = nil, id: String, properties: JSONObject = JSONObject(), uid: UInt32 = PeerID.ownUID) {
    self.type = type
    self.id = id
    self.properties = properties
    self.uid = uid
    session = nil
    sessionMarks = []
    expiresAt = nil
  }

  /// The user of a session; `claims` names the claims that are sent along.
  public init(_ session: Session, claims: [String] = [], through access: SessionRef) {
    type = nil
    id = session.subject ?? ""
    var properties = JSONObject()
    for name in claims { if let value = session.claims?[name] { properties[name] = value } }
    self.properties = properties
    uid = access.uid
    self.session = access
    sessionMarks = [
      session.handle.text, session.acr ?? "", "\(session.authenticatedAt?.millisecondsSinceEpoch ?? 0)",
      session.scope ?? "",
    ]
    expiresAt = session.expiresAt
  }
}

extension DecisionSubject: ConciseStringConvertible {
  /// Identifier and names of properties: values may be secret.
  public var description: String {
    Concise.text(
      "\(Concise.name(type ?? "subject")) \(Concise.name(id))", "uid \(uid)",
      properties.isEmpty ? nil : Concise.list(properties.names, of: "property", plural: "properties"))
  }
}
