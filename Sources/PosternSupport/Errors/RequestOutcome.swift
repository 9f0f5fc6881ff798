/// Whether a request to another server may have had an effect.
public enum RequestOutcome: String, Sendable, Hashable, CaseIterable {
  /// No byte was sent: safe to retry.
  case notSent = "not_sent"
  /// Bytes were sent, and no complete response head was received.
  case sentNoReply = "sent_no_reply"
  /// A response had started.
  case replied = "replied"
}
