public import PosternKit

/// The code of the articles in PosternKit.docc. The tests run it, without a network.
public struct Tutorials: Sendable {
  /// The engine of the application.
  public let postern: Postern
  private let report: @Sendable (String) -> Void

  /// The code with that engine; `report` gets texts for the user.
  public init(_ postern: Postern, report: @escaping @Sendable (String) -> Void = { _ in }) {
    self.postern = postern
    self.report = report
  }

  /// The code with the configuration in the working directory.
  public init() async throws {
    let postern = try await Postern(configuration: "postern.yaml")
    self.init(postern)
  }

  // MARK: Your first protected request

  /// The orders of the application.
  public func orders() async throws -> [JSONValue] {
    let response = try await postern.fetch("orders", from: "billing")
    guard response.status < 400 else { return [] }
    let orders = try response.json()["orders"]?.arrayValue ?? []
    return orders
  }

  /// The orders, and a text for the user where there are none.
  public func ordersOrReason() async -> ResourceResponse? {
    do throws(ResourceError) {
      return try await postern.fetch("orders", from: "billing")
    } catch {
      switch error.code {
      case .deviceNotAuthenticated: report("check client id, secret and scope: \(error.detail)")
      default: report(error.outcome == .notSent ? "nothing was sent: \(error)" : "\(error)")
      }
      return nil
    }
  }

  // MARK: Log a user in and keep the session

  /// Logs the user in, if that is not done.
  public func session() async throws -> Session {
    if let known = try await postern.sessions.only() { return try await postern.sessions.session(known) }
    let session = try await postern.sessions.login()
    return session
  }

  /// The user's balance; nil when the user has to log in again.
  public func balance(_ session: Session) async throws -> String? {
    do throws(ResourceError) {
      return try await postern.fetch("balance", from: "bank", session: session.handle).text
    } catch {
      guard error.code == .notAuthenticated else { throw error }
      return nil
    }
  }

  /// Ends the session.
  public func logout(_ session: Session) async throws {
    try await postern.sessions.end(session.handle)
    await postern.close()
  }

  /// The address for the browser of a web application's user.
  public func loginOfWebApplication() async throws -> BegunAuthorization {
    let begun = try await postern.sessions.beginAuthorization(redirectURI: "https://shop.example.com/callback")
    return begun
  }

  /// The session of a user whose browser has come back, with the state that its own cookie has kept.
  public func callback(_ url: String, cookie state: String) async throws -> Session {
    let session = try await postern.sessions.completeAuthorization(callback: url, state: state)
    return session
  }

  // MARK: Step-up by advice

  /// Pays with a confirmation in the browser.
  public func pay(_ session: Session) async throws -> ResourceResponse {
    let payment = ResourceRequest(path: "transfers", method: "POST", parameters: ["to": "bob", "amount": 10])
    let response = try await postern.fetch(
      payment, from: "bank", session: session.handle,
      onAdvice: { advices, session in
        let end = try? await postern.journeys.stepUpInBrowser(with: advices, session: session)
        guard case .completed? = end else { return false }
        return true
      })
    return response
  }

  /// Pays with a confirmation whose callbacks `answer` fills.
  public func pay(
    _ session: Session, answer: @escaping @Sendable (_ callback: any TypedCallback) async -> any TypedCallback
  ) async throws -> ResourceResponse {
    let payment = ResourceRequest(path: "transfers", method: "POST", parameters: ["to": "bob", "amount": 10])
    return try await postern.fetch(
      payment, from: "bank", session: session.handle,
      onAdvice: { advices, session in
        do {
          var outcome = try await postern.authenticate(with: advices, session: session)
          while case .node(var node) = outcome {
            for index in node.callbacks.indices {
              node.callbacks[index] = await answer(node.callbacks[index])
            }
            outcome = try await node.next()
          }
          guard case .completed = outcome else { return false }
          return true
        } catch {
          return false
        }
      })
  }

  /// The advice of a payment that the user has to confirm; nil when none is required.
  public func advice(of payment: ResourceRequest, _ session: Session) async throws -> AdviceStop? {
    do throws(ResourceError) {
      _ = try await postern.fetch(payment, from: "bank", session: session.handle)
      return nil
    } catch {
      guard error.code == .adviceRequired, let stop = error.stop else { throw error }
      return stop
    }
  }

  /// Continues the payment after the user has confirmed it.
  public func payment(_ payment: ResourceRequest, after stop: AdviceStop) async throws -> ResourceResponse {
    let response = try await postern.fetch(payment, from: "bank", continuing: stop)
    return response
  }
}

// MARK: Test without a network

/// A transport that is the issuer and the resource server of a test.
public struct ServersDouble: HTTPTransport {
  /// The double.
  public init() {}

  /// Returns the responses of both.
  public func send(
    _ request: HTTPRequest, options: TransferOptions
  ) async throws(TransportError) -> HTTPResponse {
    switch request.url.path {
    case "/token": Self.json(#"{"access_token": "t", "token_type": "Bearer", "expires_in": 60}"#)
    case "/billing/orders": Self.json(#"{"orders": [{"item": "coffee"}]}"#)
    default: HTTPResponse(status: 404)
    }
  }

  private static func json(_ text: String) -> HTTPResponse {
    HTTPResponse(status: 200, fields: ["Content-Type": "application/json"], body: Array(text.utf8))
  }
}

extension Tutorials {
  /// The code with doubles in place of the network and the store.
  public static func withoutNetwork(_ configuration: JSONObject) async throws -> Tutorials {
    var options = Postern.Options()
    options.transport = ServersDouble()
    options.storage = PosternEngine.SessionStorage()
    options.environment = [:]
    let postern = try await Postern(configuration: configuration, options: options)
    return Tutorials(postern)
  }

  /// A user's session by given tokens.
  public func givenSession() async throws -> Session {
    var tokens = SessionGrant.GivenTokens()
    tokens.accessToken = Secret("t")
    tokens.expiresIn = 60
    let session = try await postern.sessions.create(from: .tokens(tokens))
    return session
  }
}
