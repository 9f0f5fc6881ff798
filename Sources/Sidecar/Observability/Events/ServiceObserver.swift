package import AuthEngine
import HTTPMessages
package import Logging
import PosternJSON
import PosternObservability
import PosternProtocol
import PosternSupport

/// Converts the engine's events to metrics, health and log lines; the log lines of each user are bounded, because a
/// user can make very many calls fail.
package struct ServiceObserver: EngineObserver, KeySetObserver, SessionObserver {
  package let metrics: MetricsRegistry
  package let health: HealthMonitor
  package let changes: HealthSignal
  package let hub: EventHub
  package let logger: Logger
  package private(set) var log: BoundedLog
  /// The call whose events are taken.
  private var scope = CallScope.process
  var trail: AuditTrail?

  package init(
    metrics: MetricsRegistry, health: HealthMonitor, changes: HealthSignal, hub: EventHub, logger: Logger,
    log: BoundedLog, trail: AuditTrail? = nil
  ) {
    self.metrics = metrics
    self.health = health
    self.changes = changes
    self.hub = hub
    self.logger = logger
    self.log = log
    self.trail = trail
  }

  /// The observer whose lines are the call's.
  private func of(_ scope: CallScope) -> ServiceObserver {
    var observer = self
    observer.scope = scope
    observer.log = log.of(scope)
    return observer
  }

  /// Logs a line of the call that callers cannot cause at will, or that only a diagnosis needs.
  private func line(_ level: Logger.Level, _ text: String, _ metadata: @autoclosure () -> Logger.Metadata) {
    logger.log(level: level, "\(text)", metadata: scope.logged(metadata()))
  }

  package func observe(_ event: EngineEvent, in scope: CallScope) {
    // Every fetch causes one: no observer is made for it.
    if case .exchange(let exchange) = event { count(exchange, in: scope) } else { of(scope).take(event) }
  }

  private func take(_ event: EngineEvent) {
    switch event {
    case .tokenCacheHit(let issuer):
      metrics.tokenCache("hit")
      line(.debug, "token needed", .of([.issuer: .string(issuer), .cacheHit: "true"]))
    case .tokenCacheMiss(let issuer):
      metrics.tokenCache("miss")
      line(.debug, "token needed", .of([.issuer: .string(issuer), .cacheHit: "false"]))
    case .sessionTokenNeeded(let issuer, let isCached):
      line(.debug, "token needed", .of([.issuer: .string(issuer), .cacheHit: isCached ? "true" : "false"]))
    case .tokenObtained(let issuer):
      metrics.tokenCache("obtained")
      tokenUsed(issuer, fault: nil)
    case .tokenFailed(let issuer, let error):
      metrics.tokenCache("failed")
      log.log(.warning, "no token", about: issuer, .of([.issuer: .string(issuer), .error: .string(error.detail)]))
      // The state of an assertion is read from its file whenever health is reported.
      if case .assertion = error.kind {
        changes.signal()
      } else {
        tokenUsed(issuer, fault: "no token: \(error.publicDetail)")
      }
    case .exchangeRejected(let issuer, let error):
      metrics.tokenCache("failed")
      log.log(
        .info, "the issuer gave no token on behalf of a user", about: issuer,
        .of([.issuer: .string(issuer), .error: .string(error.detail)]))
      // It answers, and another user's token may be exchanged.
      tokenUsed(issuer, fault: nil)
    case .tokenRejected(let resource):
      metrics.tokenCache("rejected")
      log.log(
        .info, "token rejected by the resource, refreshing", about: resource, .of([.resource: .string(resource)]))
    case .scopeMissing(let resource, let names):
      log.log(
        .warning, "a user's token lacks a part of the resource's scope, and is used all the same", about: resource,
        .of([.resource: .string(resource), .scope: .string(names.joined(separator: " "))]))
    case .foreignAdvice(let resource):
      log.log(
        .warning, "the resource gives advice of another access manager, which is not followed", about: resource,
        .of([.resource: .string(resource)]))
    case .metadataLoaded(let issuer): issuerUsed(issuer, fault: nil)
    case .metadataFailed(let issuer, let error, let servesStaleCopy):
      log.log(
        .warning, "no issuer metadata", about: issuer, .of([.issuer: .string(issuer), .error: .string("\(error)")]))
      issuerUsed(issuer, fault: "no metadata\(servesStaleCopy ? ", an older copy is used" : ""): \(error)")
    case .introspected(let issuer): issuerUsed(issuer, fault: nil)
    case .introspectionFailed(let issuer, let error):
      log.log(
        .warning, "no introspection", about: issuer, .of([.issuer: .string(issuer), .error: .string(error.detail)]))
      if case .assertion = error.kind {
        changes.signal()
      } else {
        issuerUsed(issuer, fault: "no introspection: \(error.publicDetail)")
      }
    case .assertionReplaced(let issuer):
      log.log(
        .info, "the issuer rejected the client's assertion, and a newer one is sent", about: issuer,
        .of([.issuer: .string(issuer)]))
    case .credentialChanged(let issuer, let position): credentialChanged(issuer, position)
    case .clockCompared(let issuer, let skew): clockCompared(issuer, skew)
    case .fetchRejected(let resource, let reason): metrics.fetchRejected(resource, reason.rawValue)
    case .breakerOpened(let resource, let origin):
      log.log(
        .warning, "the origin failed too often and gets no requests for a while", about: resource,
        .of([.resource: .string(resource), .origin: .stringConvertible(origin)]))
    case .breakerClosed(let resource, let origin):
      log.log(
        .info, "the origin answers again", about: resource,
        .of([.resource: .string(resource), .origin: .stringConvertible(origin)]))
    case .decided(let provider, let tally): decided(provider, tally)
    case .decisionsRefreshed(let provider, let refreshed, let failed):
      metrics.decisionsRefreshed(provider, refreshed: refreshed, failed: failed)
    case .clientRegistered(let provider, replacement: false):
      line(.info, "registered with the decision point", .of([.provider: .string(provider)]))
    case .clientRegistered(let provider, replacement: true):
      line(
        .warning, "the decision point no longer knew its client, which is registered again; users have to log in again",
        .of([.provider: .string(provider)]))
    case .exchange(let exchange): count(exchange, in: scope)
    }
  }

  package func observe(_ event: KeySetEvent, in scope: CallScope) { of(scope).take(event) }

  private func take(_ event: KeySetEvent) {
    switch event {
    case .loaded(let source, _):
      if case .issuer(let name) = source { keysUsed(name, fault: nil) }
    case .failed(let source, let error, let servesOlderSet):
      log.log(
        .warning, "no key set", about: source.configured ?? "",
        .of([.source: .string("\(source)"), .error: .string("\(error)")]))
      if case .issuer(let name) = source {
        let fault = "no key set\(servesOlderSet ? ", an older one is used" : ""): \(error)"
        keysUsed(name, fault: fault, hasOlder: servesOlderSet)
      }
    case .rotated(let source, let added, let removed):
      log.log(
        .info, "keys rotated", about: source.configured ?? "",
        .of([
          .source: .string("\(source)"), .added: .stringConvertible(added.count),
          .removed: .stringConvertible(removed.count),
        ]))
      guard case .issuer(let name) = source else { return }
      hub.publish(
        .keysRotated,
        [
          "issuer": .string(name), "added": .array(added.map(JSONValue.string)),
          "removed": .array(removed.map(JSONValue.string)),
        ]
      ) { $0.contains(issuer: name) }
    }
  }

  package func observe(_ event: SessionEvent, in scope: CallScope) { of(scope).take(event) }

  private func take(_ event: SessionEvent) {
    trail?.observe(event)
    switch event {
    case .refreshed(let session, let uid):
      metrics.sessionRefresh("renewed")
      publish(.sessionRefreshed, session, uid)
    case .steppedUp: break
    case .expiring(let session, let uid): publish(.sessionExpiring, session, uid)
    case .ended(let handle, let issuer, let uid):
      log.log(
        .info, "session ended", of: uid, .of([.session: .stringConvertible(handle), .issuer: .string(issuer)]))
      hub.publish(
        .sessionEnded, ["session": .string(handle.text), "issuer": .string(issuer)], to: uid, about: handle.text
      ) { $0.contains(issuer: issuer) }
    case .refreshFailed(let handle, let issuer, let error):
      metrics.sessionRefresh("failed")
      log.log(
        .warning, "proactive refresh failed", about: issuer,
        .of([
          .session: .stringConvertible(handle), .issuer: .string(issuer), .error: .string(error.detail),
        ]))
    case .idTokenRejected(let issuer, let fault):
      log.log(
        .warning, "the ID token of a refresh is not valid", about: issuer,
        .of([.issuer: .string(issuer), .error: .string(fault.code.rawValue)]))
    case .troubled(let what, let detail):
      log.log(.warning, what, .of([.error: .string(detail)]))
    }
  }

  private func publish(_ event: EventName, _ session: Session, _ uid: UInt32) {
    var members: JSONObject = ["session": .string(session.handle.text), "issuer": .string(session.issuer)]
    if let expiresAt = session.expiresAt { members["expiresAt"] = .string(expiresAt.rfc3339) }
    if let expiresAt = session.accessTokenExpiresAt { members["accessTokenExpiresAt"] = .string(expiresAt.rfc3339) }
    hub.publish(event, members, to: uid, about: session.handle.text) { $0.contains(issuer: session.issuer) }
  }

  private func clockCompared(_ issuer: String, _ skew: Duration) {
    metrics.clockSkew(issuer, skew)
    guard health.clock(of: issuer, skew: skew) else { return }
    log.log(
      .warning, "the issuer's clock differs from this machine's", about: issuer,
      .of([.issuer: .string(issuer), .seconds: .stringConvertible(Int64(skew.inSeconds))]))
    changes.signal()
  }

  /// One line for each change: every request begins with the accepted credential from then on.
  private func credentialChanged(_ issuer: String, _ position: Int) {
    let key = position == 0 ? "clientAuth" : "fallbackCredentials[\(position - 1)]"
    log.log(
      position == 0 ? .info : .warning, "the issuer accepts another credential of the client than before",
      about: issuer, .of([.issuer: .string(issuer), .what: .string("issuers.\(issuer).\(key)")]))
    trail?.credentialChanged(of: issuer, to: key)
    changes.signal()
  }

  private func tokenUsed(_ issuer: String, fault: String?) {
    health.token(of: issuer, fault: fault)
    changes.signal()
  }

  private func keysUsed(_ issuer: String, fault: String?, hasOlder: Bool = true) {
    health.keys(of: issuer, fault: fault, hasOlder: hasOlder)
    changes.signal()
  }

  private func decided(_ provider: String, _ tally: DecisionCounts) {
    metrics.decided(
      provider, permits: tally.permits, denies: tally.denies, faults: tally.faults, local: tally.local)
    guard tally.wasQueried else { return }
    if let trouble = tally.trouble {
      log.log(
        .warning, "no decisions", about: provider,
        .of([.provider: .string(provider), .error: .string(trouble), .cause: .string(tally.cause ?? "")]))
    }
    health.decisionPoint(provider, fault: tally.trouble.map { "no decisions: \($0)" })
    changes.signal()
  }

  private func issuerUsed(_ issuer: String, fault: String?) {
    health.issuer(issuer, fault: fault)
    changes.signal()
  }

  private func count(_ exchange: UpstreamExchange, in scope: CallScope) {
    let outcome =
      switch exchange.outcome {
      case .status(let status): Self.statusClass(status)
      case .failed(let code): code.rawValue
      }
    metrics.upstreamEnded(exchange.purpose.kind, outcome, after: exchange.duration)
    guard logger.logLevel <= .debug else { return }
    logger.log(level: .debug, "exchange ended", metadata: scope.logged(Self.metadata(of: exchange)))
  }

  private static func statusClass(_ status: Int) -> String {
    switch status {
    case 200...299: "2xx"
    case 300...399: "3xx"
    case 400...499: "4xx"
    case 500...599: "5xx"
    default: "\(status / 100)xx"
    }
  }

  /// Everything about a request that helps in finding a fault, without its query.
  private static func metadata(of exchange: UpstreamExchange) -> Logger.Metadata {
    var metadata = Logger.Metadata.of([
      .kind: .string(exchange.purpose.kind), exchange.purpose.key: .string(exchange.purpose.name),
      .httpMethod: .string(exchange.method), .host: .stringConvertible(exchange.url.origin),
      .path: .string(String(decoding: exchange.url.path.utf8.prefix(512), as: UTF8.self)),
      .attempt: .stringConvertible(exchange.attempt),
      .ms: .stringConvertible(exchange.duration.wholeMilliseconds),
    ])
    switch exchange.outcome {
    case .status(let status): metadata[.status] = .stringConvertible(status)
    case .failed(let code): metadata[.outcome] = .string(code.rawValue)
    }
    return metadata
  }
}

extension KeySetName {
  /// The issuer's name in the configuration; nil for a set that a caller named.
  fileprivate var configured: String? { if case .issuer(let name) = self { name } else { nil } }
}
