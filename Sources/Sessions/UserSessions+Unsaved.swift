import PosternSupport
import SessionRecords

/// What an issuer has given and the store could not take: it is in memory only until it is written.
extension UserSessions {
  /// Writes all of it: before the store is left to another process, which would go on with tokens that have been
  /// replaced, and when the store takes writes again. Ends at the first that the store cannot take; that one and the
  /// rest stay as they are.
  public func writeUnsaved() async {
    for key in state.withLock({ $0.unsaved.keys }) {
      guard let contents = state.withLock({ $0.unsaved[key] }), let handle = try? SessionHandle(contents.handle) else {
        continue
      }
      do throws(SessionError) {
        // To read a session that was never written is to write it.
        guard let live = try await read(handle), let rest = state.withLock({ $0.unsaved[key] }) else { continue }
        _ = try await write(rest, after: live, nil)
      } catch {
        if case .store(let fault) = error.kind, fault.isOutage { return }
      }
    }
  }
}
