import HTTPMessages
import PosternJSON
import PosternSupport

extension ProviderClient {
  /// Where to send the browser: with the request itself, or with the name of one that was pushed (RFC 9126).
  package func authorizationURL(
    _ form: [(name: String, value: String)], at issuer: Issuer, key: DPoPKey?, in scope: CallScope
  ) async throws(TokenError) -> String {
    let endpoint = try await url(of: .authorization, at: issuer, in: scope)
    var query = form
    if let pushed = try await push(form, at: issuer, key: key, in: scope) {
      query = [(name: "client_id", value: issuer.clientID), (name: "request_uri", value: pushed)]
    }
    guard let url = try? endpoint.addingQuery(String(decoding: FormEncoding.encode(query), as: UTF8.self)) else {
      throw TokenError(.notPossible, "the authorization request makes too long a URL")
    }
    return "\(url)"
  }

  /// The issuer's metadata about authorizations; nil where the endpoint is configured, and no metadata is requested.
  package func authorizationMetadata(
    _ issuer: Issuer, in scope: CallScope
  ) async throws(TokenError) -> ProviderMetadata? {
    guard issuer.endpoints[.authorization] == nil else { return nil }
    let metadata = try await discovery.metadata(for: issuer, in: scope.unbounded)
    // RFC 7636 section 4.2: S256 is the only method here.
    if let methods = metadata.codeChallengeMethodsSupported, !methods.contains("S256") {
      throw TokenError(.notPossible, "the issuer does not support PKCE with S256")
    }
    return metadata
  }

  private func push(
    _ form: [(name: String, value: String)], at issuer: Issuer, key: DPoPKey?, in scope: CallScope
  ) async throws(TokenError) -> String? {
    guard issuer.endpoints[.authorization] == nil,
      let metadata = try? await discovery.metadata(for: issuer, in: scope.unbounded),
      metadata.endpoints[.pushedAuthorizationRequest] != nil
    else { return nil }
    let response = try await post(
      form, to: .pushedAuthorizationRequest, of: issuer, maxBytes: TokenResponse.maxBytes, for: .token(issuer.name),
      key: key, in: scope
    ).response
    let answer = try OAuthAnswer(response).members(
      having: "request_uri", of: "pushed authorization request endpoint")
    guard let name = answer["request_uri"]?.nonEmptyText else {
      throw TokenError(
        .malformed, "the pushed authorization request's answer has no request_uri", status: response.status)
    }
    return name
  }
}
