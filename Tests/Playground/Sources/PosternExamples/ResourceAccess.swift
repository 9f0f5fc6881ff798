public import AuthEngine
import CurlTransport
import Glibc
import HTTPMessages
import PosternSupport

/// The code of proto-docs/swift.md: a test compares the page with these files, others run them.
public struct ResourceAccess: Sendable {
  /// The sender of requests.
  public let fetcher: ResourceFetcher
  /// Where they go.
  public let server: ResourceServer
  /// Requests of the application itself.
  public let device: DeviceClient
  /// Requests in the name of a user.
  public let user: UserClient
  /// Where users' sessions are.
  public let sessions: UserSessions
  /// The issuer of users' tokens.
  public let sessionIssuer: SessionIssuer

  /// Everything that resource access needs, put together.
  public init(issuerURL: String, baseURL: String) throws {
    let clock = SystemClock()
    let transport = try CurlTransport()
    let observer = SilentObserver()
    let discovery = ProviderDiscovery(
      transport: transport, clock: clock, observer: observer, userAgent: "shop/1.0")
    let tokens = ClientCredentialsTokens(
      transport: transport, clock: clock, observer: observer, userAgent: "shop/1.0", discovery: discovery)
    let fetcher = ResourceFetcher(
      transport: transport, clock: clock, observer: observer, userAgent: "shop/1.0", deviceTokens: tokens)

    let issuer = try Issuer(
      name: "corp", identifier: issuerURL, clientID: "svc",
      clientAuthentication: ClientSecretBasic(secret: Secret("svcsecret")),
      allowsPlainHTTPOnLoopback: true)
    let server = ResourceServer(
      name: "billing", baseURL: try HTTPURL(baseURL), authentication: .clientCredentials, issuer: issuer,
      scope: "orders", allowsPlainHTTPOnLoopback: true)
    let device = DeviceClient(fetcher: fetcher, server: server)

    let sessions = UserSessions(
      store: MemoryRecordStore(), transport: transport, clock: clock, observer: observer,
      userAgent: "shop/1.0", discovery: discovery, deviceTokens: tokens)
    let keys = KeySetStore(
      transport: transport, clock: clock, observer: observer, userAgent: "shop/1.0", discovery: discovery)
    let sessionIssuer = SessionIssuer(
      issuer: issuer, tokens: IDTokenConfiguration(issuer: issuerURL), keys: keys.source(for: issuer))
    let user = UserClient(
      fetcher: fetcher, server: server, sessions: sessions, issuer: sessionIssuer, uid: getuid())

    self.fetcher = fetcher
    self.server = server
    self.device = device
    self.user = user
    self.sessions = sessions
    self.sessionIssuer = sessionIssuer
  }
}
