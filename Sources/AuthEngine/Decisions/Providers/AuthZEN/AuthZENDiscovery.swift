import HTTPMessages
import JSON
import Support

/// The endpoints of one decision point: from its metadata, asked for when first needed and then once an hour; the default paths where there is
/// none. Guarded by its own lock.
final class AuthZENDiscovery: Sendable {
  private struct Known {
    let endpoints: AuthZENEndpoints
    let until: MonotonicInstant
  }

  private static let freshness = Duration.seconds(3600)
  /// How long the default paths are used before metadata are asked for again.
  private static let absence = Duration.seconds(300)
  private static let retryInterval = Duration.seconds(30)

  private let identifier: String
  private let defaults: AuthZENEndpoints
  private let location: HTTPURL
  private let known = Locked<Known?>(nil)
  private let flights: SingleFlight<String, AuthZENEndpoints, DecisionFault>

  init(_ settings: AuthZENProvider.Settings, clock: any EngineClock) throws(HTTPURLError) {
    identifier = settings.identifier
    defaults = try AuthZENEndpoints(under: settings.baseURL)
    if let location = settings.metadataURL {
      self.location = location
    } else {
      location = try AuthZENEndpoints.wellKnown(of: settings.baseURL)
    }
    flights = SingleFlight(clock: clock)
  }

  func endpoints(over link: DecisionLink) async throws(DecisionFault) -> AuthZENEndpoints {
    if let endpoints = fresh(at: link.clock.monotonicNow) { return endpoints }
    do throws(SingleFlightError<DecisionFault>) {
      return try await flights.value(for: identifier, deadline: link.deadline) {
        [self] () async throws(DecisionFault) in
        if let endpoints = fresh(at: link.clock.monotonicNow) { return endpoints }
        return try await fetch(over: link)
      }
    } catch {
      switch error {
      case .failed(let fault): throw fault
      case .cancelled: throw DecisionFault(.networkError("cancelled"))
      case .deadlineExceeded: throw DecisionFault(.networkError("the time ran out before the metadata came"))
      }
    }
  }

  /// The batch endpoint is not there after all.
  func forgetBatches(at now: MonotonicInstant) {
    known.withLock { known in
      guard var endpoints = known?.endpoints else { return }
      endpoints.evaluations = nil
      known = Known(endpoints: endpoints, until: now + Self.absence)
    }
  }

  private func fresh(at now: MonotonicInstant) -> AuthZENEndpoints? {
    known.withLock { $0.flatMap { $0.until > now ? $0.endpoints : nil } }
  }

  private func fetch(over link: DecisionLink) async throws(DecisionFault) -> AuthZENEndpoints {
    let request = HTTPRequest(
      method: "GET", url: location, fields: HTTPFields([.init(name: "Accept", value: "application/json")]))
    let older = known.withLock { $0?.endpoints }
    let response: HTTPResponse
    do throws(DecisionFault) {
      response = try await link.exchange(request)
    } catch {
      // An outage of the metadata alone takes nothing down.
      guard let older else { throw error }
      return keep(older, for: Self.retryInterval, over: link)
    }
    if response.status >= 500 || response.status == 429 {
      return keep(older ?? defaults, for: Self.retryInterval, over: link)
    }
    let metadata = response.status == 200 ? try? DecisionReply.document(of: response) : nil
    guard let endpoints = metadata.flatMap({ AuthZENEndpoints($0, of: identifier) }) else {
      return keep(defaults, for: Self.absence, over: link)
    }
    return keep(endpoints, for: Self.freshness, over: link)
  }

  private func keep(_ endpoints: AuthZENEndpoints, for life: Duration, over link: DecisionLink) -> AuthZENEndpoints {
    let until = link.clock.monotonicNow + life
    known.withLock { $0 = Known(endpoints: endpoints, until: until) }
    return endpoints
  }
}
