/// A grant that is good once and that somebody has kept until now: taken just before it is sent, given back when the
/// issuer did not answer.
struct GrantClaim: Sendable {
  /// Throws when somebody else has it.
  let take: @Sendable () async throws(SessionError) -> Void
  /// Undoes `take`.
  let giveBack: @Sendable () async -> Void
}
