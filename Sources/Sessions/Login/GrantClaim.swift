/// A claim on a stored grant that can be used once: taken just before the grant is sent, given back when the issuer did
/// not answer.
struct GrantClaim: Sendable {
  /// Throws when another call has it.
  let take: @Sendable () async throws(SessionError) -> Void
  /// Undoes `take`.
  let giveBack: @Sendable () async -> Void
}
