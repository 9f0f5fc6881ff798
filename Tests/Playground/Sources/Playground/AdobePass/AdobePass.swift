import PosternJSON

/// Adobe Pass under `/adobe`: client registration, its tokens and the REST API v2.
///
/// Written from the published documentation, never compared with a server: where that is silent, the README has what
/// was decided. Every odd answer that has been recorded can be switched on.
struct AdobePass: Sendable {
  /// Its endpoints with their paths.
  let routes: [Route]

  /// A server that shares faults and statistics with `parts`.
  init(_ parts: ProviderParts) {
    let settings = AdobePassSettings()
    let clients = AdobePassClients(clock: parts.clock)
    let gate = AdobePassGate(
      settings: settings, throttle: AdobePassThrottle(clock: parts.clock), log: AdobePassLog(),
      answers: AdobePassAnswers(clock: parts.clock), faults: parts.faults, statistics: parts.statistics)
    let origin = parts.issuer.hasSuffix("/oidc") ? String(parts.issuer.dropLast("/oidc".count)) : parts.issuer
    let service = AdobePassService(settings: settings, clock: parts.clock, origin: origin)
    routes =
      [
        Route(["POST"], "/adobe/o/client/register", AdobePassRegistrationEndpoint(gate: gate, clients: clients)),
        Route(
          ["POST"], "/adobe/o/client/token", AdobePassTokenEndpoint(gate: gate, clients: clients, clock: parts.clock)),
        // Before the service providers, of which none may be named so.
        Route(
          ["GET"], "/adobe/api/v2/authenticate/{serviceProvider}/{code}",
          AdobePassAuthenticateEndpoint(gate: gate, service: service)),
        Route(["GET", "POST"], "/adobe/mvpd/login", AdobePassLoginEndpoint(service: service, desk: parts.desk)),
        Route(["GET"], "/adobe/adobe-services/logout", AdobePassLogoutPageEndpoint()),
        Route(
          ["GET", "POST", "DELETE"], "/playground/adobe",
          AdobePassControlEndpoint(gate: gate, clients: clients, service: service)),
      ] + Self.calls(gate, clients, service)
  }

  /// The calls of the API.
  private static func calls(_ gate: AdobePassGate, _ clients: AdobePassClients, _ service: AdobePassService) -> [Route]
  {
    let sessions = AdobePassSessionCalls(service: service)
    let profiles = AdobePassProfileCalls(service: service)
    let decisions = AdobePassDecisionCalls(service: service)
    func route(
      _ method: String, _ path: String, _ call: AdobePassCall,
      _ answer: @escaping @Sendable (AdobePassRequest) throws(AdobePassError) -> Reply
    ) -> Route {
      let endpoint = AdobePassEndpoint(call: call, gate: gate, clients: clients, answer: answer)
      return Route([method], "/adobe/api/v2/{serviceProvider}/" + path, endpoint)
    }
    func json(
      _ method: String, _ path: String, _ call: AdobePassCall,
      _ answer: @escaping @Sendable (AdobePassRequest) throws(AdobePassError) -> JSONValue
    ) -> Route {
      route(method, path, call) { request throws(AdobePassError) in Reply(json: try answer(request)) }
    }
    return [
      json("GET", "configuration", .configuration, sessions.configuration),
      json("POST", "sessions", .createSession, sessions.create),
      json("POST", "sessions/{code}", .resumeSession, sessions.resume),
      json("GET", "sessions/{code}", .session, sessions.session),
      json("GET", "profiles", .profiles, profiles.all),
      json("GET", "profiles/{mvpd}", .profile, profiles.one),
      json("GET", "profiles/code/{code}", .codeProfile, profiles.code),
      route("POST", "decisions/preauthorize/{mvpd}", .preauthorize, decisions.preauthorize),
      route("POST", "decisions/authorize/{mvpd}", .authorize, decisions.authorize),
      json("GET", "logout/{mvpd}", .logout, profiles.logOut),
      json("POST", "sessions/sso/{partner}", .partnerSession, sessions.partner),
      route("POST", "profiles/sso/{partner}", .partnerProfile, profiles.partner),
    ]
  }
}
