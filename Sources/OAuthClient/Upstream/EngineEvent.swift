public import HTTPMessages

/// Something the engine did. Holds names of the configuration, codes and durations, never a token, a query or a body.
public enum EngineEvent: Sendable {
  /// A fresh token was at hand.
  case tokenCacheHit(issuer: String)
  /// No fresh token was at hand; the caller waits for one.
  case tokenCacheMiss(issuer: String)
  /// The token endpoint gave a token.
  case tokenObtained(issuer: String)
  /// No token could be got; told once per attempt, however many callers waited.
  case tokenFailed(issuer: String, error: TokenError)
  /// A resource refused its token and the request is repeated with a newer one.
  case tokenRejected(resource: String)
  /// A resource's answer holds advice of another access manager than is configured, which is not followed.
  case foreignAdvice(resource: String)
  /// An issuer's metadata was read.
  case metadataLoaded(issuer: String)
  /// An issuer's metadata could not be read; with `servesStaleCopy` an older copy stands in.
  case metadataFailed(issuer: String, error: DiscoveryError, servesStaleCopy: Bool)
  /// The issuer said whether a token is active.
  case introspected(issuer: String)
  /// The issuer could not say.
  case introspectionFailed(issuer: String, error: TokenError)
  /// An issuer's answer told how far its clock is from this machine's: positive when it is ahead, zero when they may
  /// agree.
  case clockCompared(issuer: String, skew: Duration)
  /// A resource's limits let a request not go.
  case fetchRefused(resource: String, because: LimitReason)
  /// An origin failed so often that it is left alone for a while.
  case breakerOpened(resource: String, origin: HTTPURL.Origin)
  /// It has answered again.
  case breakerClosed(resource: String, origin: HTTPURL.Origin)
  /// A preauthorization ended.
  case decided(provider: String, DecisionCounts)
  /// Remembered decisions were to be renewed before they expire; of `failed` there is no newer one.
  case decisionsRenewed(provider: String, renewed: Int, failed: Int)
  /// A client was registered with a decision point; as a `replacement` of one that the server does not know any more it
  /// knows no logins.
  case clientRegistered(provider: String, replacement: Bool)
  /// An exchange with an upstream server ended.
  case exchange(UpstreamExchange)
}

/// Why a resource's limits did not let a request go.
public enum LimitReason: String, Sendable, Hashable, CaseIterable {
  /// All places are taken.
  case overloaded
  /// The breaker is open.
  case breakerOpen = "breaker_open"
}

/// One exchange with an upstream server, for counters and latency histograms.
public struct UpstreamExchange: Sendable {
  /// What the exchange was for.
  public enum Purpose: Sendable, Hashable {
    /// A fetch from the configured resource of that name.
    case resource(String)
    /// A token from the configured issuer of that name.
    case token(String)
    /// Metadata of the configured issuer of that name.
    case discovery(String)
    /// The key set of the configured issuer of that name, or at the origin that a caller named.
    case keySet(String)
    /// Introspection at the configured issuer of that name.
    case introspection(String)
    /// A question to the configured decision point of that name.
    case decision(String)

    /// The issuer's name, where an issuer was asked by itself.
    var issuer: String? {
      switch self {
      case .token(let name), .discovery(let name), .introspection(let name): name
      case .resource, .keySet, .decision: nil
      }
    }
  }

  /// How it ended.
  public enum Outcome: Sendable, Hashable {
    /// With a response of that status.
    case status(Int)
    /// Without a response.
    case failed(TransportError.Code)
  }

  /// What the exchange was for.
  public let purpose: Purpose
  /// The request's method.
  public let method: String
  /// How it ended.
  public let outcome: Outcome
  /// How long it took.
  public let duration: Duration
}
