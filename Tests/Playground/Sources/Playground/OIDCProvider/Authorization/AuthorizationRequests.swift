import PosternJSON
import PosternSupport

/// Reads authorization requests, directly or pushed, strictly.
struct AuthorizationRequests: Sendable {
  let clients: ClientDirectory
  let idTokens: IDTokens

  private static let prompts: Set<String> = ["none", "login", "consent", "select_account"]

  /// Where the answer goes. An error here is never sent there (RFC 6749 section 4.1.2.1).
  func destination(_ form: FormParameters) throws(OAuthError) -> AuthorizationRequest.Destination {
    for name in ["client_id", "redirect_uri", "state"] where form.all.count(where: { $0.name == name }) > 1 {
      throw OAuthError(.invalidRequest, "\(name) occurs more than once")
    }
    guard let client = form["client_id"].flatMap({ clients[$0] }) else {
      throw OAuthError(.invalidRequest, "client_id is missing or unknown")
    }
    guard client.grants.contains(.authorizationCode) else {
      throw OAuthError(.unauthorizedClient, "this client has no users")
    }
    guard let uri = form["redirect_uri"], RedirectURI.isRegistered(uri, among: client.redirectURIs) else {
      throw OAuthError(.invalidRequest, "redirect_uri is missing or not registered for this client")
    }
    let isHybrid = form["response_type"]?.contains("id_token") ?? false
    return AuthorizationRequest.Destination(
      client: client, redirectURI: uri, state: form["state"],
      usesFragment: form["response_mode"].map { $0 == "fragment" } ?? isHybrid)
  }

  /// The rest of the request. An error here goes to the client.
  func parse(
    _ form: FormParameters, to destination: AuthorizationRequest.Destination
  ) throws(OAuthError) -> AuthorizationRequest {
    try Self.checkShape(form)
    let client = destination.client
    let wantsIDToken = try Self.wantsIDToken(form)
    let scopes = try Scopes.granted(
      form["scope"], of: form["scope"] == nil ? Scopes.withoutUser(of: client) : client.scopes)
    if wantsIDToken {
      guard scopes.contains("openid") else { throw OAuthError(.invalidRequest, "an ID token needs the scope openid") }
      // OpenID Connect Core section 3.3.2.1 together with 3.2.2.1.
      guard form["nonce"] != nil else { throw OAuthError(.invalidRequest, "nonce is missing") }
    }
    return AuthorizationRequest(
      destination: destination,
      wantsIDToken: wantsIDToken,
      scopes: scopes,
      nonce: form["nonce"],
      prompts: try Self.prompts(form),
      maxAge: try Self.maxAge(form),
      loginHint: form["login_hint"],
      hintedSubject: try hintedSubject(form),
      acrValues: try Self.acrValues(form),
      resources: try Targets.requested(form),
      codeChallenge: try Self.challenge(form, client),
      proofKey: try Self.proofKey(form))
  }

  private static func checkShape(_ form: FormParameters) throws(OAuthError) {
    guard !form.repeats(except: ["resource", "audience"]) else {
      throw OAuthError(.invalidRequest, "a parameter occurs more than once")
    }
    guard form.all.allSatisfy({ $0.value.utf8.count <= Limits.authorizationParameterBytes }) else {
      throw OAuthError(.invalidRequest, "a parameter is too long")
    }
    // OpenID Connect Core sections 6 and 7.2.1.
    if form["request"] != nil { throw OAuthError(.requestNotSupported, "request objects are not supported") }
    if form["request_uri"] != nil {
      throw OAuthError(.requestURINotSupported, "only the request_uri of a pushed request is supported")
    }
    if form["registration"] != nil { throw OAuthError(.registrationNotSupported, "registration is not supported") }
  }

  private static func wantsIDToken(_ form: FormParameters) throws(OAuthError) -> Bool {
    guard let type = form["response_type"] else { throw OAuthError(.invalidRequest, "response_type is missing") }
    let types = type.split(separator: " ").sorted()
    guard types == ["code"] || types == ["code", "id_token"] else {
      throw OAuthError(.unsupportedResponseType, "response_type must be code, or code id_token")
    }
    let mode = form["response_mode"]
    guard [nil, "query", "fragment"].contains(mode) else {
      throw OAuthError(.invalidRequest, "response_mode must be query or fragment")
    }
    // OAuth 2.0 Multiple Response Types section 5: an ID token is never in a query.
    guard types.count == 1 || mode != "query" else {
      throw OAuthError(.invalidRequest, "response_mode query is not for ID tokens")
    }
    return types.count == 2
  }

  private static func prompts(_ form: FormParameters) throws(OAuthError) -> Set<String> {
    let prompts = Set((form["prompt"] ?? "").split(separator: " ").map(String.init))
    guard prompts.isSubset(of: Self.prompts) else { throw OAuthError(.invalidRequest, "prompt has an unknown value") }
    guard !prompts.contains("none") || prompts.count == 1 else {
      throw OAuthError(.invalidRequest, "prompt none must be alone")
    }
    return prompts
  }

  private static func maxAge(_ form: FormParameters) throws(OAuthError) -> Int64? {
    guard let text = form["max_age"] else { return nil }
    guard text.utf8.allSatisfy({ (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) }), let seconds = Int64(text),
      seconds <= 31_536_000
    else { throw OAuthError(.invalidRequest, "max_age must be a whole number of seconds, at most a year") }
    return seconds
  }

  /// RFC 9470 section 5: when none of the values is available, that is an error.
  private static func acrValues(_ form: FormParameters) throws(OAuthError) -> [String] {
    let values = (form["acr_values"] ?? "").split(separator: " ").map(String.init)
    guard values.isEmpty || values.contains(where: UserAuthentication.supportedACRs.contains) else {
      throw OAuthError(.unmetAuthenticationRequirements, "none of acr_values can be had here")
    }
    return values
  }

  /// RFC 7636 section 4.4.1, RFC 9700 section 2.1.1: public clients must, and no client may use `plain`.
  private static func challenge(_ form: FormParameters, _ client: PlaygroundClient) throws(OAuthError) -> String? {
    guard let challenge = form["code_challenge"] else {
      guard !client.isPublic else { throw OAuthError(.invalidRequest, "a public client must send code_challenge") }
      guard form["code_challenge_method"] == nil else {
        throw OAuthError(.invalidRequest, "code_challenge_method without code_challenge")
      }
      return nil
    }
    guard form["code_challenge_method"] == "S256" else {
      throw OAuthError(.invalidRequest, "code_challenge_method must be S256")
    }
    guard PKCE.isChallenge(challenge) else {
      throw OAuthError(.invalidRequest, "code_challenge is no SHA-256 hash in base64url")
    }
    return challenge
  }

  private static func proofKey(_ form: FormParameters) throws(OAuthError) -> String? {
    guard let thumbprint = form["dpop_jkt"] else { return nil }
    guard Base64URL.decode(thumbprint)?.count == 32 else {
      throw OAuthError(.invalidRequest, "dpop_jkt is not a SHA-256 thumbprint")
    }
    return thumbprint
  }

  private func hintedSubject(_ form: FormParameters) throws(OAuthError) -> String? {
    guard let hint = form["id_token_hint"] else { return nil }
    guard let subject = idTokens.check(hint, mayHaveExpired: true)?["sub"]?.stringValue else {
      throw OAuthError(.invalidRequest, "id_token_hint is not an ID token of this issuer")
    }
    return subject
  }
}
