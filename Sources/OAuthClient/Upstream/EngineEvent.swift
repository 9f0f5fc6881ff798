public import HTTPMessages
public import PosternSupport

/// Something that happened in the engine. It has names of the configuration, codes and durations, never a token, a
/// query or a body.
public enum EngineEvent: Sendable {
  /// A fresh token was in the cache.
  case tokenCacheHit(issuer: String)
  /// No fresh token was in the cache; the caller waits for one.
  case tokenCacheMiss(issuer: String)
  /// The token endpoint gave a token.
  case tokenObtained(issuer: String)
  /// No token could be obtained; reported once per request, however many callers waited.
  case tokenFailed(issuer: String, error: TokenError)
  /// The issuer gave no token on behalf of a user, for a reason of that user's or of the inbound token's.
  case exchangeRejected(issuer: String, error: TokenError)
  /// A resource server rejected the token, and the request is retried with a newer one.
  case tokenRejected(resource: String)
  /// A call needs a token of a session at that issuer; whether a fresh one was in the cache.
  case sessionTokenNeeded(issuer: String, isCached: Bool)
  /// A user's token lacks these names of the resource's scope, and is used all the same; reported once per session and
  /// resource.
  case scopeMissing(resource: String, names: [String])
  /// A resource's answer has advice of an access manager other than the configured one, which is not followed.
  case foreignAdvice(resource: String)
  /// An issuer's metadata was read.
  case metadataLoaded(issuer: String)
  /// An issuer's metadata could not be read; with `servesStaleCopy` an older copy is used.
  case metadataFailed(issuer: String, error: DiscoveryError, servesStaleCopy: Bool)
  /// The issuer reported whether a token is active.
  case introspected(issuer: String)
  /// The issuer could not report whether a token is active.
  case introspectionFailed(issuer: String, error: TokenError)
  /// The issuer rejected the client's assertion, and its file had another one by then, which was sent.
  case assertionReplaced(issuer: String)
  /// The issuer accepted another of the client's credentials than before: 0 is the configured one, 1 the first of
  /// `fallbackCredentials`.
  case credentialChanged(issuer: String, position: Int)
  /// An issuer's answer showed how far its clock is ahead of this machine's: zero when they may agree.
  case clockCompared(issuer: String, skew: Duration)
  /// A resource's limits rejected a request.
  case fetchRejected(resource: String, because: LimitReason)
  /// The circuit breaker of an origin opened after many failures.
  case breakerOpened(resource: String, origin: HTTPURL.Origin)
  /// The circuit breaker of an origin closed after an answer.
  case breakerClosed(resource: String, origin: HTTPURL.Origin)
  /// A preauthorization ended.
  case decided(provider: String, DecisionCounts)
  /// Cached decisions were refreshed before their expiry; for `failed` of them there is no newer one.
  case decisionsRefreshed(provider: String, refreshed: Int, failed: Int)
  /// A client was registered at a decision point; a `replacement` of one that the server does not know any more has
  /// none of its logins.
  case clientRegistered(provider: String, replacement: Bool)
  /// A request to an upstream server ended.
  case exchange(UpstreamExchange)
}

/// The reason why a resource's limits rejected a request.
public enum LimitReason: String, Sendable, Hashable, CaseIterable {
  /// All slots are taken.
  case overloaded
  /// The circuit breaker is open.
  case breakerOpen = "breaker_open"
}

/// One request to an upstream server, for counters and latency histograms.
public struct UpstreamExchange: Sendable {
  /// The purpose of the request.
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
    /// A request to the configured decision point of that name.
    case decision(String)

    /// The issuer's name in requests to an issuer.
    var issuer: String? {
      switch self {
      case .token(let name), .discovery(let name), .introspection(let name): name
      case .resource, .keySet, .decision: nil
      }
    }
  }

  /// The outcome.
  public enum Outcome: Sendable, Hashable {
    /// With a response of that status.
    case status(Int)
    /// Without a response.
    case failed(TransportError.Code)
  }

  /// The purpose of the request.
  public let purpose: Purpose
  /// The request's method.
  public let method: String
  /// The request's URL. Its query may contain secrets, and its path callers' data: no metric has either.
  public let url: HTTPURL
  /// Which request this is of those that one fetch or one token request sent, from 1.
  public let attempt: Int
  /// The outcome.
  public let outcome: Outcome
  /// The duration.
  public let duration: Duration
}

/// The port through which the engine reports events, for metrics and logs.
///
/// Called on the task that does the work: be quick, do not block, do not call back into the engine.
public protocol EngineObserver: Sendable {
  /// Takes an event of that call.
  func observe(_ event: EngineEvent, in scope: CallScope)
}

/// Observes nothing.
public struct SilentObserver: EngineObserver {
  /// An observer that drops everything.
  public init() {}

  /// Drops `event`.
  public func observe(_ event: EngineEvent, in scope: CallScope) {}
}

/// The counts of one preauthorization, for metrics and health, which all users see: without resources, subjects and a
/// server's words.
public struct DecisionCounts: Sendable, Hashable {
  /// The number of permits.
  public let permits: Int
  /// The number of denies.
  public let denies: Int
  /// The number of undecided resources.
  public let faults: Int
  /// The number of decisions from the cache.
  public let local: Int
  /// The number of decisions of an operator's rule.
  public let degraded: Int
  /// The error of the decision point, as all users may see it; nil when it answered, or was not queried.
  public let trouble: String?
  /// The sidecar's own explanation of it, for the log.
  public let cause: String?

  package init(
    permits: Int, denies: Int, faults: Int, local: Int, degraded: Int, trouble: String?, cause: String?
  ) {
    self.permits = permits
    self.denies = denies
    self.faults = faults
    self.local = local
    self.degraded = degraded
    self.trouble = trouble
    self.cause = cause
  }

  /// Whether the decision point was queried at all.
  public var wasQueried: Bool { trouble != nil || permits + denies + faults > local + degraded }
}

extension UpstreamExchange: ConciseStringConvertible {
  /// Method, URL without its query, outcome and duration.
  public var description: String { "\(method) \(url.shown), \(outcome), \(duration)" }
}

extension UpstreamExchange.Outcome: ConciseStringConvertible {
  /// The status, or the cause of the failure.
  public var description: String {
    switch self {
    case .status(let status): "status \(status)"
    case .failed(let code): code.rawValue
    }
  }
}

extension SilentObserver: ConciseStringConvertible {}

extension DecisionCounts: ConciseStringConvertible {
  /// The counts.
  public var description: String {
    Concise.text(
      Concise.count(permits, "permit"), Concise.count(denies, "deny", plural: "denials"),
      Concise.count(faults, "fault"))
  }
}

extension UpstreamExchange.Purpose: ConciseStringConvertible {
  /// The kind of request, and the name of the server.
  public var description: String {
    switch self {
    case .resource(let name): "resource \(Concise.name(name))"
    case .token(let name): "token of \(Concise.name(name))"
    case .discovery(let name): "metadata of \(Concise.name(name))"
    case .keySet(let name): "keys of \(Concise.name(name))"
    case .introspection(let name): "introspection at \(Concise.name(name))"
    case .decision(let name): "decision of \(Concise.name(name))"
    }
  }
}

extension LimitReason: ConciseStringConvertible {
  /// The symbol.
  public var description: String { rawValue }
}
