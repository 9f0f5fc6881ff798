/// What a request to a decision point is for: that says over which connection it goes, and in whose name.
public enum DecisionPurpose: Sendable, Hashable {
  /// A user's question: over connections that are kept for that user. An answer that comes late can be taken for one to
  /// another question of the same user, and for nothing else.
  case question
  /// A user's question on whose answer something depends for everybody: on a connection of its own.
  case confirmation
  /// What comes of it is everybody's, or it brings credentials: on a connection of its own, in nobody's name.
  case shared
}
