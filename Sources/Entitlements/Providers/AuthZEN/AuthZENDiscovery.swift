import HTTPMessages
import PosternJSON
import PosternSupport

/// The endpoints of one decision point: from its metadata, asked for when first needed and then once an hour; the
/// default paths where there is none. Guarded by its own lock.
final class AuthZENDiscovery: Sendable {
  private struct Known {
    let endpoints: AuthZENEndpoints
    let until: MonotonicInstant
  }

  private struct State {
    var known: Known?
    /// Until when a uid's questions are single ones, as it was told that there are no batches.
    var singly = BoundedCache<UInt32, MonotonicInstant>(capacity: 1024)
  }

  private static let freshness = Duration.seconds(3600)
  /// How long the default paths are used before metadata are asked for again.
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
    flights = SingleFlight(clock: clock, servesEverybody: true)
  }

  /// The endpoints, as they are for the uid that asks.
  func endpoints(over link: DecisionClient) async throws(DecisionFault) -> AuthZENEndpoints {
    var endpoints = try await everybodys(over: link)
    let (owner, now) = (link.subject.owner, link.clock.monotonicNow)
    if state.withLock({ $0.singly[owner].map { $0 > now } ?? false }) { endpoints.evaluations = nil }
    return endpoints
  }

  private func everybodys(over link: DecisionClient) async throws(DecisionFault) -> AuthZENEndpoints {
    if let endpoints = fresh(at: link.clock.monotonicNow) { return endpoints }
    do throws(SingleFlightError<DecisionFault>) {
      return try await flights.value(for: identifier, deadline: link.deadline) {
        [self] () async throws(DecisionFault) in
        if let endpoints = fresh(at: link.clock.monotonicNow) { return endpoints }
        return try await fetch(over: link.forEverybody(patience: link.point.budget))
      }
    } catch {
      switch error {
      case .failed(let fault): throw fault
      case .cancelled: throw DecisionFault(.networkError("cancelled"))
      case .deadlineExceeded: throw DecisionFault(.networkError("the time ran out before the metadata came"))
      }
    }
  }

  /// The batch endpoint is not there after all, as `owner` was told: its questions are single ones for a while, and the
  /// metadata are asked for anew after that.
  func forgetBatches(for owner: UInt32, at now: MonotonicInstant) {
    let end = now + Self.absence
    state.withLock { state in
      state.singly[owner] = end
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
      // An outage of the metadata alone takes nothing down.
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

  /// Tokens go to no other origin than the configured one.
  private func mayAsk(_ endpoints: AuthZENEndpoints, _ point: DecisionPoint) -> Bool {
    if case .none = point.settings.credential { true } else { endpoints.areAll(at: origin) }
  }

  private func keep(_ endpoints: AuthZENEndpoints, for life: Duration, over link: DecisionClient) -> AuthZENEndpoints {
    let until = link.clock.monotonicNow + life
    state.withLock { $0.known = Known(endpoints: endpoints, until: until) }
    return endpoints
  }
}
