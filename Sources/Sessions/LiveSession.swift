import OAuthClient
import PosternSupport

/// A session in memory: its record read, its tokens with generations of this process.
package struct LiveSession: Sendable {
  let handle: SessionHandle
  let owner: UInt32
  let version: UInt64
  package let contents: SessionContents
  let tokens: [TokenSlot: AccessToken]
  /// The key that the session's tokens are bound to, ready for use.
  let key: DPoPKey?
  /// When the record was read or written.
  let readAt: MonotonicInstant

  /// The slot of a resource's token: the session's own token where it is good for the resource.
  func slot(scope: String?, audience: String?) -> TokenSlot {
    guard audience == nil else { return TokenSlot(scope: scope, audience: audience) }
    guard let scope else { return .session }
    let isCovered = contents.scope.map { ScopeText.covers($0, scope) } ?? true
    return isCovered ? .session : TokenSlot(scope: scope, audience: nil)
  }

  /// The session as a caller may see it.
  var session: Session { contents.session(handle) }
}
