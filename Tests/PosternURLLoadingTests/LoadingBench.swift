import AuthEngine
import Foundation
import HTTPMessages
import PosternSupport
import PosternTestSupport
import PosternURLLoading

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

/// A URL session over the engine over a transport whose answers a test writes.
struct LoadingBench {
  static let base = "https://api.example.com/base"
  /// What a policy has for all URLs below it.
  static let policyURL = base + "/"

  let transport: ScriptedTransport
  let resource: ProtectedResource
  let session: URLSession
  /// The control of the latest exchange.
  let control: Locked<TransferControl?>

  /// One user's session at an issuer, when `isLoggedIn`; `answer` gives the resource server's answers.
  init(
    isLoggedIn: Bool = true, maxBodyBytes: Int = 1 << 20, isMounted: Bool = true,
    authentication: ResourceServer.Authentication = .user, hasSession: Bool = true,
    advice: AdviceRules? = AdviceRules(), accessManager: String? = "https://am.example.com/am",
    delegate: (any URLSessionDelegate)? = nil, configure: (URLSessionConfiguration) -> Void = { _ in },
    beforeAnswer: @escaping @Sendable (TransferControl) async -> Void = { _ in },
    _ answer: @escaping @Sendable (HTTPRequest) async throws(TransportError) -> HTTPResponse
  ) async throws {
    let control = Locked<TransferControl?>(nil)
    self.control = control
    transport = ScriptedTransport { request, options throws(TransportError) in
      control.withLock { $0 = options.control }
      if let control = options.control { await beforeAnswer(control) }
      return try await answer(request)
    }
    let engine = PosternEngine(transport: transport, userAgent: "test/1")
    let issuer = try Issuer(
      name: "corp", identifier: "https://idp.example.com", clientID: "app",
      clientAuthentication: ClientSecretBasic(secret: Secret("s")))
    let sessionIssuer = engine.sessionIssuer(issuer)
    if isLoggedIn {
      var given = SessionGrant.GivenTokens()
      given.accessToken = Secret("user-token")
      _ = try await engine.sessions.create(
        from: .tokens(given), at: sessionIssuer, in: CallScope(peer: PeerID(uid: 1, connection: 0)))
    }
    var server = ResourceServer(
      name: "api", baseURL: try HTTPURL(Self.base), authentication: authentication, issuer: issuer,
      maxBodyBytes: maxBodyBytes)
    server.advice = advice
    server.advice?.accessManager = try accessManager.map { text in try HTTPURL(text) }
    var options = FetchOptions()
    if hasSession { options.session = SessionRef.only(of: 1, at: sessionIssuer, sessions: engine.sessions) }
    resource = ProtectedResource(server, fetcher: engine.fetcher, options: options)
    let configuration = URLSessionConfiguration.ephemeral
    configuration.protocolClasses = [PosternURLProtocol.self]
    configure(configuration)
    session = URLSession(configuration: configuration, delegate: delegate, delegateQueue: nil)
    PosternURLProtocol.tokenManagementPolicy = nil
    PosternURLProtocol.authorizationPolicy = nil
    PosternURLProtocol.resources = isMounted ? [resource] : []
  }

  /// Returns the session's result for a request.
  func outcome(_ request: URLRequest) async -> Result<(body: Data, head: HTTPURLResponse), URLError> {
    await withCheckedContinuation { continuation in
      let task = session.dataTask(with: request) { body, head, error in
        if let error {
          continuation.resume(returning: .failure(error as? URLError ?? URLError(.unknown)))
        } else if let head = head as? HTTPURLResponse {
          continuation.resume(returning: .success((body ?? Data(), head)))
        } else {
          continuation.resume(returning: .failure(URLError(.badServerResponse)))
        }
      }
      task.resume()
    }
  }

  static func request(_ path: String, method: String = "GET") -> URLRequest {
    var request = URLRequest(url: URL(string: path.contains("://") ? path : base + path)!)
    request.httpMethod = method
    return request
  }

  static func reply(_ status: Int, _ body: String = "", _ fields: (String, String)...) -> HTTPResponse {
    HTTPResponse(
      status: status, fields: HTTPFields(fields.map { HTTPFields.Field(name: $0.0, value: $0.1) }),
      body: Array(body.utf8))
  }
}
