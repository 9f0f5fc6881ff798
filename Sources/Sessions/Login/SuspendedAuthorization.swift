import HTTPMessages
public import OAuthClient
import PosternJSON
public import PosternSupport

/// An authorization by single sign-on that the access manager suspends: it requires an action of the user first, logged
/// in or not, as it does for a client with a tree of its own.
public struct SuspendedAuthorization: Sendable, ConciseStringConvertible {
  /// The advice that the user has to satisfy.
  public let advices: [PolicyAdvice]
  /// How many advices suspend it.
  public var description: String { "suspended by \(advices.count) advices" }
  let request: SignOnRequest
  package let pending: PendingAuthorization
  /// Where the request goes once that is done.
  let location: HTTPURL
  /// The single sign-on token that it was made with.
  package let token: Secret<String>
  /// Which of a session's tokens it is for.
  package var slot = TokenSlot.session
  /// The key that the tokens of a session to be are bound to.
  var key: JSONValue?

  init(
    advices: [PolicyAdvice], request: SignOnRequest, pending: PendingAuthorization, location: HTTPURL,
    token: Secret<String>
  ) {
    self.advices = advices
    self.request = request
    self.pending = pending
    self.location = location
    self.token = token
  }
}
