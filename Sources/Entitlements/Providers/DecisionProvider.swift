public import PosternJSON

/// Why a call's `context` cannot be used.
public struct DecisionContextComplaint: Sendable, Hashable {
  /// The member.
  public let member: String
  /// What is wrong with it.
  public let reason: String

  /// A complaint about `member`.
  public init(about member: String, _ reason: String) {
    self.member = member
    self.reason = reason
  }
}

/// What one kind of decision point speaks. A new kind is one conforming type.
///
/// It turns a question into requests and answers into verdicts; tokens, retries, splitting, memory and time are not its
/// business.
public protocol DecisionProvider: Sendable {
  /// What the decision point cannot be told to leave out.
  var unhonoredFeatures: Set<PreauthorizeRequest.Feature> { get }

  /// Whether its questions name a subject.
  var needsSubject: Bool { get }

  /// What is wrong with the part of a call's `context` that the provider reads; nil when nothing is.
  func complaint(about context: JSONObject) -> DecisionContextComplaint?

  /// One verdict for each resource of `batch`, in its order; nil where the answer does not speak of it. Throws when
  /// there is no answer for any of them.
  func evaluate(_ batch: DecisionBatch, over link: DecisionClient) async throws(DecisionFault) -> [DecisionVerdict?]
}

extension DecisionProvider {
  /// They do.
  public var needsSubject: Bool { true }

  /// It takes the context as it is.
  public func complaint(about context: JSONObject) -> DecisionContextComplaint? { nil }
}
