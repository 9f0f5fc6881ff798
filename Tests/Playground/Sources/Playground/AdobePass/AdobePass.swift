/// Adobe Pass under `/adobe`: client registration, its tokens and preauthorization (REST API v2).
///
/// Written from the published documentation, never compared with a server: what it decides follows from the resource's
/// name, and every odd answer that has been recorded can be switched on.
struct AdobePass: Sendable {
  /// Its endpoints with their paths.
  let routes: [Route]

  /// A server that shares faults and statistics with `parts`.
  init(_ parts: ProviderParts) {
    let settings = AdobePassSettings()
    let clients = AdobePassClients(clock: parts.clock)
    let log = AdobePassLog()
    let gate = AdobePassGate(
      settings: settings, throttle: AdobePassThrottle(clock: parts.clock), log: log, faults: parts.faults,
      statistics: parts.statistics)
    let control = AdobePassControlEndpoint(settings: settings, clients: clients, throttle: gate.throttle, log: log)
    routes = [
      Route(["POST"], "/adobe/o/client/register", AdobePassRegistrationEndpoint(gate: gate, clients: clients)),
      Route(
        ["POST"], "/adobe/o/client/token", AdobePassTokenEndpoint(gate: gate, clients: clients, clock: parts.clock)),
      Route(
        ["POST"], "/adobe/api/v2/{serviceProvider}/decisions/preauthorize/{mvpd}",
        AdobePassDecisionsEndpoint(gate: gate, clients: clients)),
      Route(["GET", "POST", "DELETE"], "/playground/adobe", control),
    ]
  }
}
