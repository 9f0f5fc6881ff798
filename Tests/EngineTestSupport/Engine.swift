package import AuthEngine
package import HTTPMessages
package import PosternSupport
package import PosternTestSupport

/// An engine over a scripted transport and a manual clock, with an observer that records events.
package struct Engine: Sendable {
  package let clock: ManualClock
  package let transport: ScriptedTransport
  package let observer = RecordingObserver()
  package let services: Services
  package let discovery: ProviderDiscovery
  package let tokens: ClientCredentialsTokens
  package let fetcher: ResourceFetcher

  package init(clock: ManualClock = ManualClock(), _ script: @escaping ScriptedTransport.Script) {
    self.clock = clock
    transport = ScriptedTransport(script)
    services = .testing(transport, clock: clock, observer: observer)
    discovery = ProviderDiscovery(services)
    tokens = ClientCredentialsTokens(services, discovery: discovery)
    fetcher = ResourceFetcher(services, deviceTokens: tokens, waitsAtEachStep: FetchSteps.wait)
  }

  package var tokenRequests: [HTTPRequest] { transport.requests(to: "https://idp.test/token") }
}

/// Records every event.
package final class RecordingObserver: EngineObserver {
  private let log = Locked<[EngineEvent]>([])

  package init() {}

  package var events: [EngineEvent] { log.withLock { $0 } }

  package func observe(_ event: EngineEvent, in scope: CallScope) { log.withLock { $0.append(event) } }
}

extension Services {
  package static func testing(
    _ transport: any HTTPTransport, clock: any EngineClock, observer: any EngineObserver = SilentObserver()
  ) -> Services {
    Services(transport: transport, clock: clock, observer: observer, userAgent: "postern/test")
  }
}

extension Issuer {
  /// The issuer of most tests: its token endpoint is given, so that no discovery takes place.
  package static func testing(
    identifier: String = "https://idp.test", clientID: String = "svc",
    authentication: any ClientAuthentication = ClientSecretBasic(secret: Secret("svcsecret")),
    endpoints: [ProviderEndpoint: String] = [.token: "https://idp.test/token"],
    allowsPlainHTTPOnLoopback: Bool = false, usesDPoP: Bool = false
  ) throws -> Issuer {
    try Issuer(
      name: "corp", identifier: identifier, clientID: clientID, clientAuthentication: authentication,
      endpoints: endpoints.mapValues { try HTTPURL($0) },
      access: ServerAccess(plainHTTP: PlainHTTPRule(allowsLoopback: allowsPlainHTTPOnLoopback)), usesDPoP: usesDPoP)
  }
}

extension ResourceServer {
  package static func testing(
    baseURL: String = "https://api.test/base/", additionalOrigins: [String] = [],
    authentication: Authentication = .clientCredentials, issuer: Issuer? = nil, allowsPlainHTTPOnLoopback: Bool = false
  ) throws -> ResourceServer {
    try ResourceServer(
      name: "billing", baseURL: HTTPURL(baseURL), additionalOrigins: additionalOrigins.map { try HTTPURL($0) },
      authentication: authentication, issuer: issuer ?? .testing(), scope: "orders",
      access: ServerAccess(plainHTTP: PlainHTTPRule(allowsLoopback: allowsPlainHTTPOnLoopback)))
  }
}

extension HTTPResponse {
  package static func json(_ text: String, status: Int = 200) -> HTTPResponse {
    HTTPResponse(
      status: status, fields: HTTPFields([.init(name: "Content-Type", value: "application/json")]),
      body: Array(text.utf8))
  }

  package static func token(_ value: String, expiresIn: Int = 300) -> HTTPResponse {
    json(#"{"access_token":"\#(value)","token_type":"Bearer","expires_in":\#(expiresIn)}"#)
  }

  package static func status(_ status: Int, _ fields: (String, String)...) -> HTTPResponse {
    HTTPResponse(status: status, fields: HTTPFields(fields.map { HTTPFields.Field(name: $0.0, value: $0.1) }))
  }

  package static let unauthorized = status(401, ("WWW-Authenticate", #"Bearer error="invalid_token""#))
}

/// Counts upwards, for scripts.
package final class Counter: Sendable {
  private let value = Locked(0)

  package init() {}

  package var current: Int { value.withLock { $0 } }

  @discardableResult
  package func next() -> Int {
    value.withLock { value in
      value += 1
      return value
    }
  }
}
