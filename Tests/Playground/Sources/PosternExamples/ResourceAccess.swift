public import AuthEngine
import CurlTransport
import HTTPMessages
import PosternJSON
import PosternSupport

/// The lower layers, without a configuration: the code of proto-docs/swift.md over `PosternEngine`.
public struct ResourceAccess: Sendable {
  /// The engine.
  public let engine: PosternEngine
  /// Where requests go.
  public let server: ResourceServer
  /// Requests of the application itself.
  public let device: DeviceClient
  /// The issuer of users' tokens.
  public let sessionIssuer: SessionIssuer
  /// Requests in the name of a user.
  public let user: UserClient

  /// Everything that resource access needs, put together.
  public init(issuerURL: String, baseURL: String) throws {
    let engine = PosternEngine(transport: try CurlTransport(), userAgent: "shop/1.0")
    let access = ServerAccess(plainHTTP: PlainHTTPRule(allowsLoopback: true))
    let issuer = try Issuer(
      name: "corp", identifier: issuerURL, clientID: "svc",
      clientAuthentication: ClientSecretBasic(secret: Secret("svcsecret")),
      access: access)
    let server = ResourceServer(
      name: "billing", baseURL: try HTTPURL(baseURL), authentication: .clientCredentials, issuer: issuer,
      scope: "orders", access: access)
    let device = engine.deviceClient(of: server)
    let sessionIssuer = engine.sessionIssuer(issuer)
    let user = engine.userClient(of: server, at: sessionIssuer, uid: PeerID.ownUID)

    self.engine = engine
    self.server = server
    self.device = device
    self.sessionIssuer = sessionIssuer
    self.user = user
  }

  /// A resource of the application's own; nil when the answer is not what was expected.
  public func orders() async throws(ResourceError) -> ResourceResponse {
    let request = ResourceRequestFactory.makeResourceRequest(path: "orders", parameters: ["limit": 10])
    return try await device.sendAuthenticatedRequest(request)
  }
}
