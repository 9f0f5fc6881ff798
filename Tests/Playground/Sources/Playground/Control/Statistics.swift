import PosternSupport

/// Counts requests to the playground since the start or the last reset; tests read it to count upstream calls.
final class Statistics: Sendable {
  /// Token requests of one client.
  struct ClientCounters: Sendable {
    var requests = 0
    var methods: [PlaygroundClient.Authentication: Int] = [:]
  }

  /// All counters.
  struct Counters: Sendable {
    var connections = 0
    var abandonedRequests = 0
    var discoveryRequests = 0
    var keySetRequests = 0
    var authorizationRequests = 0
    var pushedAuthorizationRequests = 0
    var deviceAuthorizationRequests = 0
    var logins = 0
    var loginsRejected = 0
    var codesIssued = 0
    var codeReplays = 0
    var tokenRequests = 0
    var tokensIssued = 0
    var tokenErrors = 0
    var tokenAnswersSpoiled = 0
    var idTokensIssued = 0
    var refreshTokensIssued = 0
    var refreshTokensPresented = 0
    var refreshTokenReuseDetected = 0
    var refreshTokenFamiliesRevoked = 0
    var dpopProofsRejected = 0
    var dpopNonceChallenges = 0
    var userInfoRequests = 0
    var introspectionRequests = 0
    var revocationRequests = 0
    var logoutRequests = 0
    var resourceRequests = 0
    var resourceUnauthorized = 0
    var resourceForbidden = 0
    var openRequests = 0
    var misbehavingRequests = 0
    var serverInfoRequests = 0
    var ssoAuthorizations = 0
    var policyEvaluations = 0
    var ssoLogouts = 0
    var authenticateRequests = 0
    var gatewayRequests = 0
    var gatewayAdvices = 0
    var adobeRegistrations = 0
    var adobeTokens = 0
    var adobeDecisions = 0
    var adobeThrottled = 0
    var grants: [PlaygroundClient.Grant: Int] = [:]
    var clients: [String: ClientCounters] = [:]
  }

  private let counters = Locked(Counters())

  /// Adds one to a counter.
  func count(_ counter: WritableKeyPath<Counters, Int>) {
    counters.withLock { $0[keyPath: counter] += 1 }
  }

  /// Counts a token request by the registered client it claims to come from, whether or not the claim holds.
  func countTokenRequest(client: String, method: PlaygroundClient.Authentication) {
    counters.withLock { counters in
      counters.clients[client, default: ClientCounters()].requests += 1
      counters.clients[client]?.methods[method, default: 0] += 1
    }
  }

  /// Counts a token request by its grant type, once the client has proven who it is.
  func countGrant(_ grant: PlaygroundClient.Grant) {
    counters.withLock { $0.grants[grant, default: 0] += 1 }
  }

  /// The current counters.
  var snapshot: Counters { counters.withLock { $0 } }

  /// Sets everything to zero.
  func reset() { counters.withLock { $0 = Counters() } }
}
