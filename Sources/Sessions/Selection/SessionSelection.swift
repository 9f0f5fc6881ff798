import OAuthClient
import PosternSupport

/// Cached selections of each uid.
final class SelectionCache: Sendable {
  struct Name: Sendable, Hashable {
    let kind: SessionKind
    let issuer: String
  }

  struct Selection: Sendable {
    /// One of the live sessions; nil when there are none.
    let first: SessionHandle?
    /// How many live sessions there are, of which no more than `SessionError.countedSessions` are counted.
    let count: Int
    /// When a session that counts expires.
    let until: Timestamp?
    let readAt: MonotonicInstant
  }

  /// Reads of one uid's sessions that are running. Another uid's changes make none of them invalid.
  private struct Reads: Sendable {
    var running = 0
    /// How often the uid's sessions have changed meanwhile.
    var changes: UInt64 = 0
  }

  private struct State: Sendable {
    var selections = BoundedCache<UInt32, [Name: Selection]>(capacity: 1024)
    var reads: [UInt32: Reads] = [:]
  }

  private let state = Locked(State())

  subscript(name: Name, uid: UInt32) -> Selection? { state.withLock { $0.selections[uid]?[name] } }

  /// A session of `uid` has begun, ended, or ends at another time.
  func forget(of uid: UInt32) {
    state.withLock { state in
      state.reads[uid]?.changes += 1
      state.selections[uid] = nil
    }
  }

  /// Caches what `read` returns, unless the uid's sessions change meanwhile: the result may have that change or not.
  func cache(
    _ name: Name, of uid: UInt32, _ read: () async throws(SessionError) -> Selection
  ) async throws(SessionError) -> Selection {
    let changes = state.withLock { state in
      state.reads[uid, default: Reads()].running += 1
      return state.reads[uid]?.changes
    }
    defer {
      state.withLock { state in
        state.reads[uid]?.running -= 1
        if state.reads[uid]?.running == 0 { state.reads[uid] = nil }
      }
    }
    let selection = try await read()
    state.withLock { state in
      guard state.reads[uid]?.changes == changes else { return }
      var selections = state.selections[uid] ?? [:]
      selections[name] = selection
      state.selections[uid] = selections
    }
    return selection
  }
}

/// Finds the only live session of a uid, for calls that ask for `only`.
struct SessionSelection: Sendable {
  let repository: SessionRepository
  let clock: any EngineClock

  /// Cached until a session of that uid begins or ends; for a moment only where other processes share the store.
  private func selection(
    of kind: SessionKind, at issuer: String, in call: CallScope
  ) async throws(SessionError) -> SelectionCache.Selection {
    let name = SelectionCache.Name(kind: kind, issuer: issuer)
    let now = clock.monotonicNow
    if let known = repository.selections[name, call.uid], known.until.map({ $0 > clock.wallNow }) ?? true,
      !repository.isShared || now - known.readAt < SessionRepository.sharedCacheLife
    {
      return known
    }
    return try await repository.selections.cache(name, of: call.uid) { () async throws(SessionError) in
      var live: [Session] = []
      try await repository.forEachSession(in: call) { session, _ in
        guard session.kind == kind, session.issuer == issuer, !session.isReplaced else { return true }
        if session.expiresAt.map({ $0 > clock.wallNow }) ?? true { live.append(session) }
        return live.count < SessionError.countedSessions
      }
      return .init(
        first: live.first?.handle, count: live.count, until: live.compactMap(\.expiresAt).min(), readAt: now)
    }
  }

  /// The only live session of that kind; nil when there is none, an error when there are several.
  func only(
    _ kind: SessionKind, at issuer: String, in call: CallScope
  ) async throws(SessionError) -> SessionHandle? {
    let selection = try await selection(of: kind, at: issuer, in: call)
    guard selection.count <= 1 else { throw .severalSessions(selection.count, at: issuer) }
    return selection.first
  }
}
