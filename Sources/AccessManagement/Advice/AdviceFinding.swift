/// The advices of one answer.
public struct AdviceFinding: Sendable, Hashable {
  /// Where in the answer they stood.
  public enum Source: String, Sendable, Hashable {
    /// In `WWW-Authenticate`.
    case header
    /// In the `Location` of a redirect.
    case redirect
    /// In the body.
    case body
  }

  /// The advices in order, each once; never empty.
  public let advices: [PolicyAdvice]
  /// Where they stood.
  public let source: Source
}
