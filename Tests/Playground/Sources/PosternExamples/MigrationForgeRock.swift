import Foundation
import PosternKit
import PosternURLLoading

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

/// The code of proto-docs/migration/forgerock.md; a test compares the page with it.
struct MigrationForgeRock {
  let billingURL: URL
  let delegate: BillingDelegate

  func bind(_ node: JourneyNode, sign: (_ user: String, _ challenge: String) -> String) throws -> JourneyNode {
    var node = node
    try node.fill(DeviceBindingCallback.self) { callback in
      callback.setJWS(sign(callback.userID ?? "", callback.challenge))
      callback.setDeviceName("desk")
    }
    return node
  }

  func setUp() async throws -> Postern {
    let postern = try await Postern(configuration: "postern.yaml")
    return postern
  }

  func tokenPolicy(_ postern: Postern) async throws -> URLSession {
    // Step 1 - Name the resources, and the user's session. There is nothing to register
    let current = try await postern.sessions.only()
    PosternURLProtocol.resources = [try postern.protectedResource("billing", session: current)]

    // Step 2 - Initialize TokenManagementPolicy object
    let tokenManagementPolicy = try TokenManagementPolicy(validatingURL: [billingURL], delegate: delegate)

    // Step 3 - Implement delegate method if needed

    // Step 4 - Assign TokenManagementPolicy in PosternURLProtocol
    PosternURLProtocol.tokenManagementPolicy = tokenManagementPolicy

    // Step 5 - Configure URLProtocol in the application's URLSessionConfiguration
    let config = URLSessionConfiguration.default
    config.protocolClasses = [PosternURLProtocol.self]
    let urlSession = URLSession(configuration: config)
    return urlSession
  }

  func authorizationPolicy() throws {
    let authorizationPolicy = try AuthorizationPolicy(validatingURL: [billingURL], delegate: delegate)
    PosternURLProtocol.authorizationPolicy = authorizationPolicy
  }

  func steps45() throws -> URLSession {
    let urlSession = try PosternURLProtocol.makeSession()
    return urlSession
  }

  func withoutUser() throws {
    PosternURLProtocol.tokenManagementPolicy = try TokenManagementPolicy(
      validatingURL: [billingURL], delegate: delegate, whenNoSession: .sendWithoutToken)
  }

  struct BillingDelegate: TokenManagementPolicyDelegate, AuthorizationPolicyDelegate {
    let postern: Postern
    let user: JourneyUser

    // TokenManagementPolicyDelegate
    func evaluateTokenRefresh(_ event: PolicyEvent) async -> Bool? {
      event.response?.status == 401
    }

    // AuthorizationPolicyDelegate, the one that it needs
    func onPolicyAdviseReceived(
      _ advices: [PolicyAdvice], event: PolicyEvent, continuation: String?
    ) async -> Bool? {
      guard let outcome = try? await postern.authenticate(with: advices, session: event.session) else { return false }
      return await user.complete(outcome)
    }

    // AuthorizationPolicyDelegate, where the URL parameter is not what the resource expects
    func updateRequest(_ event: PolicyEvent, txId: String?) async -> RequestUpdate? {
      guard let txId else { return nil }
      return RequestUpdate(headers: ["X-Transaction": txId])
    }
  }

  struct JourneyUser {
    let name: String
    let password: Secret<String>

    func complete(_ outcome: JourneyNode.Outcome) async -> Bool {
      var outcome = outcome
      while case .node(var node) = outcome {
        for (index, callback) in node.callbacks.enumerated() {
          if var callback = callback as? NameCallback {
            callback.setValue(name)
            node.callbacks[index] = callback
          } else if var callback = callback as? PasswordCallback {
            callback.setValue(password)
            node.callbacks[index] = callback
          }
        }
        guard let next = try? await node.next() else { return false }
        outcome = next
      }
      if case .completed = outcome { return true }
      return false
    }
  }

  func login(_ postern: Postern, user: JourneyUser) async throws -> Bool {
    let outcome = try await postern.journeys.authenticate(tree: "Login")
    return await user.complete(outcome)
  }

  func fetch(_ postern: Postern, user: JourneyUser) async throws -> ResourceResponse {
    let transfer = ResourceRequest(path: "transfers", method: "POST")
    let current = try await postern.sessions.only()
    let response = try await postern.fetch(transfer, from: "billing", session: current) { (advices, session) in
      guard let outcome = try? await postern.authenticate(with: advices, session: session) else { return false }
      return await user.complete(outcome)
    }
    return response
  }

  func currentUser(_ postern: Postern) async throws -> AccessToken {
    let current = try await postern.sessions.only()
    let token = try await postern.tokens.accessToken(for: "billing", session: current)
    if let current { try await postern.sessions.end(current) }
    return token
  }

  func advices(_ postern: Postern, in response: ResourceResponse) throws -> [PolicyAdvice] {
    let advices = try postern.journeys.advices(in: response)
    return advices
  }

  func failure(of urlSession: URLSession, report: (String) -> Void) async throws {
    do {
      let (data, _) = try await urlSession.data(from: billingURL)
      report("\(data.count) bytes")
    } catch let error as URLError {
      switch error.resourceError?.code {
      case .notAuthenticated: report("log in first")
      case .sessionNotFound: report("log in again")
      default: report(error.localizedDescription)
      }
    }
  }
}
