import HTTPMessages
public import OAuthClient
public import PosternJSON
public import PosternSupport

/// The reason why a call's `context` cannot be used.
public struct DecisionContextError: Sendable, Hashable {
  /// The member of the context.
  public let member: String
  /// The problem with it.
  public let reason: String
  /// The part of the member that it is about; empty for all of it.
  public let path: ParameterPath

  /// An error about `path` in `member`.
  public init(about member: String, _ reason: String, path: ParameterPath = []) {
    self.member = member
    self.reason = reason
    self.path = path
  }
}

/// The protocol of one kind of decision point. A new kind is one conforming type.
///
/// It turns a batch into requests and answers into verdicts; tokens, retries, splitting, caching and deadlines are
/// handled by its callers.
public protocol DecisionProvider: Sendable {
  /// The features that the decision point cannot honor: caches that it cannot bypass.
  var unhonoredFeatures: Set<PreauthorizeRequest.Feature> { get }

  /// Whether its requests name a subject.
  var needsSubject: Bool { get }

  /// Returns the problem with the part of a call's `context` that the provider reads; nil when there is none.
  func contextError(in context: JSONObject) -> DecisionContextError?

  /// Returns what the decisions of a call depend on, of what the caller and the provider know; throws where no decision
  /// can be had for it, and so before a decision is taken from the cache.
  func resolved(_ context: JSONObject, over link: DecisionClient) async throws(DecisionFault) -> ResolvedContext

  /// Returns an error of the sidecar's own as callers of this kind of decision point know it; any other status as it is.
  func worded(_ status: Status) -> Status

  /// Returns one verdict for each resource of `batch`, in its order; nil where the answer has none. Throws when there
  /// is no answer for any of them.
  func evaluate(_ batch: DecisionBatch, over link: DecisionClient) async throws(DecisionFault) -> [DecisionVerdict?]
}

extension DecisionProvider {
  /// Requests name a subject by default.
  public var needsSubject: Bool { true }

  /// Errors are as they are by default.
  public func worded(_ status: Status) -> Status { status }

  /// The context is accepted as it is by default.
  public func contextError(in context: JSONObject) -> DecisionContextError? { nil }

  /// Decisions depend on the context as it is by default.
  public func resolved(
    _ context: JSONObject, over link: DecisionClient
  ) async throws(DecisionFault) -> ResolvedContext { ResolvedContext(context) }
}

/// The context of a call as its provider resolves it.
public struct ResolvedContext: Sendable {
  /// The values that requests are made of.
  public let values: JSONObject
  /// The values that decisions depend on: a part of their key in the cache, in place of `values`.
  public let key: JSONObject

  /// The context `values`; `key` is given where it is another: with what callers do not know, and without secrets.
  public init(_ values: JSONObject, key: JSONObject? = nil) {
    self.values = values
    self.key = key ?? values
  }
}

/// One request to a decision point: about several resources at once, each once.
public struct DecisionBatch: Sendable {
  /// The subject.
  public let subject: DecisionSubject
  /// The action of the subject.
  public let action: String
  /// The context that the caller adds.
  public let context: JSONObject
  /// Whether the decision point is to bypass its cache.
  public let bypassesRemoteCache: Bool
  /// The resources.
  public var resources: [ResourceName]

  /// A batch of the given parts.
  public init(
    subject: DecisionSubject, action: String, context: JSONObject = JSONObject(), bypassesRemoteCache: Bool = false,
    resources: [ResourceName]
  ) {
    self.subject = subject
    self.action = action
    self.context = context
    self.bypassesRemoteCache = bypassesRemoteCache
    self.resources = resources
  }
}

extension DecisionBatch {
  /// The header fields of a JSON request for the batch.
  var fields: HTTPFields {
    var fields = HTTPFields([
      .init(name: "Accept", value: "application/json"), .init(name: "Content-Type", value: "application/json"),
    ])
    if bypassesRemoteCache { fields["Cache-Control"] = "no-cache" }
    return fields
  }

  /// Returns the subject as AuthZEN writes it: `type`, `id` and `properties`.
  func subjectMembers(defaultType: String) -> JSONObject {
    var members: JSONObject = ["type": .string(subject.type ?? defaultType), "id": .string(subject.id)]
    if !subject.properties.isEmpty { members["properties"] = .object(subject.properties) }
    return members
  }
}

/// A decision point's answer about one resource. A deny and a fault remain different all the way.
public enum DecisionVerdict: Sendable, Hashable {
  /// A permit; `lifetime` is its validity, where the decision point states one.
  case permit(lifetime: Duration?)
  /// A deny for that reason.
  indirect case deny(Status, lifetime: Duration?)
  /// The answer of an operator's rule at the decision point, in place of a policy: nil is a permit. It is never cached.
  indirect case degraded(Status?)
  /// A fault: there is no decision.
  indirect case fault(DecisionFault)

  /// Whether it is a decision of any kind.
  var isDecided: Bool { if case .fault = self { false } else { true } }
}

/// The purpose of a request to a decision point; it decides over which connection the request is sent, and in whose
/// name.
public enum DecisionPurpose: Sendable, Hashable {
  /// A user's request: sent over connections that are kept for that user. A late answer can be taken for the answer to
  /// another request of the same user, and of no other.
  case question
  /// A user's request on whose answer something depends for all users: sent on a connection of its own.
  case confirmation
  /// A request whose result is shared by all users, or brings credentials: sent on a connection of its own, in the name
  /// of no user.
  case shared
}

extension DecisionContextError: ConciseStringConvertible {
  /// Member and reason.
  public var description: String { "\(Concise.name(member))\(path.jsonPointer): \(Concise.name(reason))" }
}

extension ResolvedContext: ConciseStringConvertible {
  /// The names of the members: the values may be secret.
  public var description: String { Concise.list(values.names, of: "member") }
}

extension DecisionBatch: ConciseStringConvertible {
  /// The resources.
  public var description: String {
    Concise.text(Concise.list(resources.map(\.text), of: "resource"), "action \(Concise.name(action))", "\(subject)")
  }
}

extension DecisionVerdict: ConciseStringConvertible {
  /// The verdict.
  public var description: String {
    switch self {
    case .permit: "permit"
    case .deny(let status, _): "denial, \(status)"
    case .degraded(let status): Concise.text("degraded", status.map { "\($0)" })
    case .fault(let fault): "fault, \(fault)"
    }
  }
}
