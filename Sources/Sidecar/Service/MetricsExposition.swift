import AuthEngine
import PosternJSONRPC
import PosternObservability
import PosternSupport

/// All metrics in Prometheus' text format 0.0.4.
struct MetricsExposition: Sendable {
  let metrics: MetricsRegistry
  let hub: EventHub
  let endpoints: EndpointRegistry
  let callLimiter: ConcurrencyLimiter
  let running: RunningConfiguration
  let engine: Engine
  let suspended: SuspendedFetches
  let trail: AuditTrail?
  let spans: SpanExporter?
  let transportState: (@Sendable () -> TransportState)?

  /// The metrics of what `scope` shows. Those of the process as a whole reveal the use of all peers: they are for
  /// scopes that hide nothing.
  func text(for scope: PeerScope = .everything) -> String {
    let connections = hub.connections
    let own =
      metrics.exposition(
        for: scope, openConnections: connections.count + hub.httpConnections.withLock { $0.onRPCSockets },
        inFlight: connections.reduce(hub.otherCallCount) { $0 + ($1.conversation?.inFlightCount ?? 0) },
        waiting: callLimiter.waitingCount,
        version: Product.version)
      + OriginMetrics.exposition(
        running.current.allServers.filter { scope.contains(resource: $0.name) }, engine.fetcher.originStates)
    guard scope.isEverything else { return own }
    return own
      + AdviceMetrics.exposition(journeys: engine.journeys.waitingCount, fetches: suspended.count)
      + EndpointMetrics.exposition(endpoints.counts, approvals: endpoints.approvals.answers)
      + AuditMetrics.exposition(trail?.condition) + TelemetryMetrics.exposition(spans?.counts)
      + TransportMetrics.exposition(transportState?())
  }
}
