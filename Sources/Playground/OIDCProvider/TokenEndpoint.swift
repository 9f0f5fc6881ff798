import JSON
import Support

/// `POST /oidc/token` (RFC 6749 section 3.2): the client credentials grant (section 4.4), with scopes and resource indicators.
struct TokenEndpoint: Endpoint {
  let authentication: ClientAuthentication
  let tokens: AccessTokens
  let faults: Faults
  let statistics: Statistics
  /// The audience of tokens that were asked for without one.
  let defaultAudience: String

  func reply(to request: Request) async throws -> Reply {
    statistics.count(\.tokenRequests)
    do {
      let form = try OAuthForm.parse(request)
      let claim = try authentication.claim(in: request, form: form)
      if authentication.knows(claim.id) { statistics.countTokenRequest(client: claim.id, method: claim.method) }
      if let fault = try await faults.strike(.token) {
        statistics.count(\.tokenErrors)
        return fault.generalReply ?? OAuthError(.invalidClient, "refused by a switched fault").reply
      }
      let client = try authentication.verify(claim)
      guard let grant = form["grant_type"] else { throw OAuthError(.invalidRequest, "grant_type is missing") }
      guard grant == "client_credentials" else {
        throw OAuthError(.unsupportedGrantType, "only client_credentials is supported")
      }
      return try clientCredentials(client, form)
    } catch let error as OAuthError {
      statistics.count(\.tokenErrors)
      return error.reply
    }
  }

  private func clientCredentials(_ client: PlaygroundClient, _ form: FormParameters) throws -> Reply {
    let scopes = try Self.scopes(asked: form["scope"], of: client)
    let targets = try Self.targets(form)
    let text = try tokens.issue(
      client: client.id,
      audience: targets.isEmpty ? [defaultAudience] : targets,
      scopes: scopes
    )
    statistics.count(\.tokensIssued)
    return Reply(
      json: [
        "access_token": .string(text),
        "token_type": "Bearer",
        "expires_in": .integer(tokens.lifetime.wholeMilliseconds / 1000),
        "scope": .string(scopes.joined(separator: " ")),
      ],
      headers: OAuthError.noStore
    )
  }

  /// What is granted: all that was asked for, or all there is when nothing was (section 3.3).
  private static func scopes(asked: String?, of client: PlaygroundClient) throws(OAuthError) -> [String] {
    guard let asked else { return client.scopes }
    var scopes: [String] = []
    for scope in asked.split(separator: " ").map(String.init) where !scopes.contains(scope) {
      guard client.scopes.contains(scope) else { throw OAuthError(.invalidScope, "a scope is unknown to this client") }
      scopes.append(scope)
    }
    guard !scopes.isEmpty else { throw OAuthError(.invalidScope, "no scope within scope") }
    return scopes
  }

  /// The audiences asked for: `resource`, absolute URIs without fragment (RFC 8707 section 2), and `audience`, any name.
  private static func targets(_ form: FormParameters) throws(OAuthError) -> [String] {
    let resources = form.values(of: "resource")
    for resource in resources {
      let scheme = resource.prefix { $0 != ":" }
      guard scheme.count < resource.count, scheme.first?.isLetter == true, !resource.contains("#") else {
        throw OAuthError(.invalidTarget, "resource must be an absolute URI without fragment")
      }
    }
    return resources + form.values(of: "audience").filter { !resources.contains($0) }
  }
}
