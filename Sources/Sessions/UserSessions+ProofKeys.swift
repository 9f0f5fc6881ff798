import OAuthClient
import PosternJSON
import PosternSupport
import SessionRecords

extension UserSessions {
  /// A fresh key for a session at `issuer`, as records keep it; nil where tokens are not bound.
  func newKey(for issuer: SessionIssuer) throws(SessionError) -> JSONValue? {
    guard issuer.issuer.usesDPoP else { return nil }
    do throws(TokenError) {
      return try DPoPKey.generate().recordRevealingSecret()
    } catch {
      throw SessionError(error)
    }
  }

  /// The session with a key where its issuer binds tokens: one from before there were keys gets its own now.
  ///
  /// The key is in the store before anything is bound to it: a refresh token may be, and would be lost with it.
  func withKey(
    _ live: LiveSession, _ issuer: SessionIssuer, _ lease: RecordLease?
  ) async throws(SessionError) -> LiveSession {
    if live.key == nil { _ = try DPoPKey.recorded(live.contents.dpopKey) }
    guard live.contents.dpopKey == nil, let key = try newKey(for: issuer) else { return live }
    var contents = live.contents
    contents.dpopKey = key
    return try await write(contents, after: live, lease)
  }

  /// The key of `contents`, the one that is at hand where that is the same.
  func key(of contents: SessionContents, _ handle: SessionHandle) -> DPoPKey? {
    guard let record = contents.dpopKey else { return nil }
    if let known = state.withLock({ $0.sessions[handle.key] }), known.contents.dpopKey == record { return known.key }
    return DPoPKey(record: record)
  }
}
