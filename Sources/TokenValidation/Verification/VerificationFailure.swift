import KeySets

/// Why a verification ended without a verified token.
enum VerificationFailure: Error, Sendable {
  /// The token is to be refused.
  case refused(TokenFault)
  /// There are no keys to judge it with.
  case undecided(KeySetError)
}
