import OAuthClient
import PosternSupport

extension UserSessions {
  /// A renewal, begun now or joined: of all of a session's tokens one is renewed at a time.
  func run(
    _ handle: SessionHandle, _ wanted: TokenRequirement, _ issuer: SessionIssuer, by deadline: Deadline = .never,
    _ trace: TraceContext?
  ) async throws(SessionError) -> RefreshOutcome {
    do throws(SingleFlightError<SessionError>) {
      return try await renewals.value(for: handle.key, deadline: deadline) { [self] () async throws(SessionError) in
        do throws(SessionError) {
          return RefreshOutcome(slot: wanted.slot, outcome: .success(try await renew(handle, wanted, issuer, trace)))
        } catch {
          return RefreshOutcome(slot: wanted.slot, outcome: .failure(error))
        }
      }
    } catch {
      throw SessionError(error)
    }
  }
}
