public import HTTPMessages
public import OAuthClient
public import ResourceAccess

extension TokenManagementPolicy {
  /// Sends `request` under the policy, for code that brings its own transport.
  ///
  /// `token` returns the access token, or one newer than a rejected one. Where the policy covers the URL and there
  /// is no token, nothing is sent and its error is thrown: a request never goes out without what it was meant to carry.
  /// A rejected request is retried once; when there is no newer token the rejection is the response.
  ///
  /// Redirects are not followed, and no proof is made for a token that is bound to a key: `ResourceFetcher` does both.
  public func send<Failure: Error>(
    _ request: HTTPRequest, over transport: any HTTPTransport, options: TransferOptions = TransferOptions(),
    orThrow failure: (TransportError) -> Failure,
    token: (_ replacing: AccessToken?) async throws(Failure) -> AccessToken
  ) async throws(Failure) -> HTTPResponse {
    func exchange(_ request: HTTPRequest) async throws(Failure) -> HTTPResponse {
      do throws(TransportError) {
        return try await transport.send(request, options: options)
      } catch {
        throw failure(error)
      }
    }
    guard covers(request.url) else { return try await exchange(request) }
    let current = try await token(nil)
    let first = try await exchange(authorizing(request, with: current))
    guard await requiresRefresh(PolicyEvent(request: request, response: first), of: current) else { return first }
    let newer: AccessToken
    do throws(Failure) {
      newer = try await token(current)
    } catch {
      return first
    }
    return try await exchange(authorizing(request, with: newer))
  }
}
