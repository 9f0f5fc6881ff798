import PosternSupport

/// Pushed authorization requests (RFC 9126): each reference is good for a minute and once.
final class PushedRequests: Sendable {
  /// The prefix of every reference (section 2.2).
  static let prefix = "urn:ietf:params:oauth:request_uri:"
  /// How long a reference is good, in seconds.
  static let lifetimeSeconds: Int64 = 60

  private let requests: ExpiringStore<AuthorizationRequest>

  /// No requests yet.
  init(clock: any EngineClock) { requests = ExpiringStore(clock: clock) }

  /// The reference of a checked request.
  func push(_ request: AuthorizationRequest) throws(OAuthError) -> String {
    let reference = Self.prefix + RandomText.next()
    guard requests.insert(request, under: reference, for: .seconds(Self.lifetimeSeconds)) else { throw .full }
    return reference
  }

  /// Uses a reference up (section 4).
  func redeem(_ reference: String, by client: String?) throws(OAuthError) -> AuthorizationRequest {
    guard let request = requests.value(reference), request.client.id == client, requests.take(reference) != nil else {
      throw OAuthError(.invalidRequestURI, "request_uri is unknown, used, expired or another client's")
    }
    return request
  }
}
