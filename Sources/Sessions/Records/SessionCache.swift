import OAuthClient
import PosternSupport
import SessionRecords

/// Sessions in memory, shared fairly between uids.
struct SessionCache: Sendable {
  var sessions = FairCache<UInt32, RecordKey, LiveSession>(capacity: 2048)
  /// Sessions that ended here: a call that had read such a session before must not bring it back. Handles are never
  /// used again.
  var ended = FairCache<UInt32, RecordKey, Bool>(capacity: 4096)
  /// Contents that the store could not take: written before anything else is done with the session.
  var unsaved = FairCache<UInt32, RecordKey, SessionContents>(capacity: 1024)
  private var lastGeneration: UInt64 = 0

  /// Caches what the store has; a newer version that is cached already takes precedence. Tokens that were cached before
  /// keep their generation.
  mutating func keep(_ record: SessionRecord, key: DPoPKey?, clock: any EngineClock) -> LiveSession {
    let id = record.handle.key
    let known = sessions[id]
    if let known, known.version > record.version { return known }
    var tokens: [TokenSlot: AccessToken] = [:]
    for stored in record.contents.tokens {
      if let token = known?.tokens[stored.slot], token.value.reveal() == stored.value,
        token.expiresAt == stored.expiresAt
      {
        tokens[stored.slot] = token
      } else if let binding = stored.binding(key) {
        lastGeneration += 1
        tokens[stored.slot] = stored.accessToken(generation: lastGeneration, binding: binding, clock: clock)
      }
    }
    let live = LiveSession(record: record, tokens: tokens, key: key, readAt: clock.monotonicNow)
    if ended[id] == nil { sessions.set(live, for: id, of: record.uid) }
    return live
  }

  /// Notes that the session has ended; what the store had not taken of it.
  mutating func end(_ key: RecordKey, of uid: UInt32) -> SessionContents? {
    defer {
      ended.set(true, for: key, of: uid)
      sessions.remove(key)
      unsaved.remove(key)
    }
    return unsaved[key]
  }
}
