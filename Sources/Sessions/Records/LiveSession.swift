import OAuthClient
import PosternSupport
import SessionRecords

/// A session's record as it was read or written.
struct SessionRecord: Sendable {
  let handle: SessionHandle
  let uid: UInt32
  let version: UInt64
  let contents: SessionContents

  /// The record that replaces this one.
  func successor(_ contents: SessionContents, at now: Timestamp) throws(SessionError) -> StoredRecord {
    StoredRecord(
      key: handle.key, uid: uid, version: version + 1, expiresAt: contents.purgeable(at: now),
      contents: try contents.storable())
  }
}

/// A session in memory: its record, and its tokens with generations of this process.
package struct LiveSession: Sendable {
  let record: SessionRecord
  let tokens: [TokenSlot: AccessToken]
  /// The key that the session's tokens are bound to, ready for use.
  let key: DPoPKey?
  /// When the record was read or written.
  let readAt: MonotonicInstant

  var handle: SessionHandle { record.handle }
  var uid: UInt32 { record.uid }
  var version: UInt64 { record.version }
  package var contents: SessionContents { record.contents }

  /// The session as callers see it.
  var session: Session { contents.session(handle) }

  /// Throws where the session belongs to another issuer or client than `issuer` is configured for now.
  func check(_ issuer: SessionIssuer) throws(SessionError) {
    guard contents.issuer.name == issuer.issuer.name, contents.issuer.isIdentical(to: issuer.issuer)
    else { throw SessionError(.issuerUnknown, "the session belongs to another issuer or client than is configured") }
  }
}

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
