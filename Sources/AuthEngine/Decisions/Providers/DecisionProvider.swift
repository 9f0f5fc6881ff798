/// What one kind of decision point speaks. A new kind is one conforming type.
///
/// It turns a question into requests and answers into verdicts; tokens, retries, splitting, memory and time are not its business.
public protocol DecisionProvider: Sendable {
  /// What the decision point cannot be told to leave out.
  var unhonoredFeatures: Set<PreauthorizeRequest.Feature> { get }

  /// Whether its questions name a subject.
  var needsSubject: Bool { get }

  /// One verdict for each resource of `batch`, in its order; nil where the answer does not speak of it. Throws when there is no answer
  /// for any of them.
  func evaluate(_ batch: DecisionBatch, over link: DecisionLink) async throws(DecisionFault) -> [DecisionVerdict?]
}

extension DecisionProvider {
  /// They do.
  public var needsSubject: Bool { true }
}
