import HTTPMessages
import OAuthClient
import PosternJSON
import PosternSupport

/// The endpoints of one decision point: from its metadata, fetched when first needed and then once an hour; the default
/// paths where there is none. The state is behind a lock.
final class AuthZENDiscovery: Sendable {
  private struct Known {
    let endpoints: AuthZENEndpoints
    let until: MonotonicInstant
  }

  private struct State {
    var known: Known?
    /// For each uid the time until which its batches are sent as single requests, since an answer to it showed that
    /// there are no batches.
    var singly = BoundedCache<UInt32, MonotonicInstant>(capacity: 1024)
  }

  private static let freshness = Duration.seconds(3600)
  /// The time for which the default paths are used before metadata is fetched again.
  private static let absence = Duration.seconds(300)
  private static let retryInterval = Duration.seconds(30)

  private let identifier: String
  private let defaults: AuthZENEndpoints
  private let location: HTTPURL
  private let origin: HTTPURL.Origin
  private let state = Locked(State())
  private let flights: SingleFlight<String, AuthZENEndpoints, DecisionFault>

  init(_ settings: AuthZENProvider.Settings, clock: any EngineClock) throws(HTTPURLError) {
    identifier = settings.identifier
    defaults = try AuthZENEndpoints(under: settings.baseURL)
    origin = settings.baseURL.origin
    if let location = settings.metadataURL {
      self.location = location
    } else {
      location = try AuthZENEndpoints.wellKnown(of: settings.baseURL)
    }
    flights = SingleFlight(clock: clock, servesEverybody: true) {
      DecisionFault(endOf: $0, beforeThereWas: "metadata")
    }
  }

  /// Returns the endpoints for the uid of the lookup.
  func endpoints(over link: DecisionClient) async throws(DecisionFault) -> AuthZENEndpoints {
    var endpoints = try await shared(over: link)
    let (uid, now) = (link.subject.uid, link.clock.monotonicNow)
    if state.withLock({ $0.singly[uid].map { $0 > now } ?? false }) { endpoints.evaluations = nil }
    return endpoints
  }

  private func shared(over link: DecisionClient) async throws(DecisionFault) -> AuthZENEndpoints {
    if let endpoints = fresh(at: link.clock.monotonicNow) { return endpoints }
    return try await flights.value(for: identifier, in: link.scope) { [self] run async throws(DecisionFault) in
      if let endpoints = fresh(at: link.clock.monotonicNow) { return endpoints }
      return try await fetch(over: link.forSharedRequest(timeout: link.point.settings.budget, in: run))
    }
  }

  /// Records that the batch endpoint does not exist after all, as an answer to `uid` showed: its batches are sent as
  /// single requests for a while, and the metadata is fetched again after that.
  func forgetBatches(for uid: UInt32, at now: MonotonicInstant) {
    let end = now + Self.absence
    state.withLock { state in
      state.singly[uid] = end
      state.known = state.known.map { Known(endpoints: $0.endpoints, until: min($0.until, end)) }
    }
  }

  private func fresh(at now: MonotonicInstant) -> AuthZENEndpoints? {
    state.withLock { $0.known.flatMap { $0.until > now ? $0.endpoints : nil } }
  }

  private func fetch(over link: DecisionClient) async throws(DecisionFault) -> AuthZENEndpoints {
    let request = HTTPRequest(
      method: "GET", url: location, fields: HTTPFields([.init(name: "Accept", value: "application/json")]))
    let older = state.withLock { $0.known?.endpoints }
    let response: HTTPResponse
    do throws(DecisionFault) {
      response = try await link.exchange(request, for: .shared)
    } catch {
      // An outage of the metadata alone does not end the service.
      guard let older else { throw error }
      return keep(older, for: Self.retryInterval, over: link)
    }
    if response.status >= 500 || response.status == 429 {
      return keep(older ?? defaults, for: Self.retryInterval, over: link)
    }
    let metadata = response.status == 200 ? try? DecisionReply.document(of: response) : nil
    guard let endpoints = metadata.flatMap({ AuthZENEndpoints($0, of: identifier) }), mayAsk(endpoints, link.point)
    else {
      return keep(defaults, for: Self.absence, over: link)
    }
    return keep(endpoints, for: Self.freshness, over: link)
  }

  /// Tokens are sent to no other origin than the configured one.
  private func mayAsk(_ endpoints: AuthZENEndpoints, _ point: DecisionPoint) -> Bool {
    if case .none = point.settings.credential { true } else { endpoints.areAll(at: origin) }
  }

  private func keep(_ endpoints: AuthZENEndpoints, for life: Duration, over link: DecisionClient) -> AuthZENEndpoints {
    let until = link.clock.monotonicNow + life
    state.withLock { $0.known = Known(endpoints: endpoints, until: until) }
    return endpoints
  }
}

/// The endpoints of an AuthZEN decision point.
struct AuthZENEndpoints: Sendable, Hashable {
  let evaluation: HTTPURL
  /// The endpoint for batches; nil when there is none.
  var evaluations: HTTPURL?

  init(evaluation: HTTPURL, evaluations: HTTPURL?) {
    self.evaluation = evaluation
    self.evaluations = evaluations
  }

  /// The default paths (section 10.1).
  init(under base: HTTPURL) throws(HTTPURLError) {
    evaluation = try base.appending(relativePath: "access/v1/evaluation")
    evaluations = try base.appending(relativePath: "access/v1/evaluations")
  }

  /// Reads the decision point's metadata (section 9.2); nil when it is no metadata, or that of another one: the
  /// identifiers must be equal byte by byte.
  init?(_ metadata: JSONValue, of identifier: String) {
    guard metadata["policy_decision_point"]?.stringValue?.hasSameBytes(as: identifier) == true,
      let evaluation = metadata["access_evaluation_endpoint"]?.stringValue.flatMap({ try? HTTPURL($0) })
    else { return nil }
    self.evaluation = evaluation
    if let text = metadata["access_evaluations_endpoint"]?.stringValue {
      guard let evaluations = try? HTTPURL(text) else { return nil }
      self.evaluations = evaluations
    }
  }

  /// Whether all of them are at `origin`.
  func areAll(at origin: HTTPURL.Origin) -> Bool {
    evaluation.origin == origin && evaluations.map { $0.origin == origin } ?? true
  }

  /// The well-known location: between host and path of the identifier (section 9.2.1).
  static func wellKnown(of base: HTTPURL) throws(HTTPURLError) -> HTTPURL {
    let path = base.path.utf8.last == UInt8(ascii: "/") ? String(Substring(base.path.utf8.dropLast())) : base.path
    return try base.replacingPath("/.well-known/authzen-configuration\(path)")
  }
}
