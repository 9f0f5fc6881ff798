import CurlTransport
import HTTPMessages
import Logging
import PosternObservability
import PosternSupport
import Sidecar

/// The process's transports: the common one, and those of resources that have HTTP/2, each with a thread of its own.
final class UpstreamTransports: Sendable {
  private struct State {
    /// Why exchanges cannot be set up, by transport.
    var problems: [Int: String] = [:]
    var count = 0
    /// The transports of resources; fetches keep theirs.
    var others: [Int: Weak] = [:]
    /// The counts of those that are gone.
    var ended = TransportState()
  }

  private struct Weak: Sendable {
    weak var transport: LazyTransport?
  }

  /// How long frames without end keep the thread of a resource's own transport.
  private static let longestIteration = Duration.seconds(3)

  /// The common one.
  let common: CurlTransport
  /// The one for the collector of telemetry, which has no pins: the common one, unless that requires pins.
  let collector: any HTTPTransport
  private let state = Locked(State())
  private let replacements: FileReloadMonitor
  private let logger: Logger
  private let descriptors: DescriptorBudget
  private let stalled: StalledResources
  private let requiresPins: Bool
  private let proxy: OutboundProxySetting

  /// Starts the common one.
  init(
    _ descriptors: DescriptorBudget, requiresPins: Bool, proxy: OutboundProxySetting, replacements: FileReloadMonitor,
    logger: Logger
  ) throws(CurlTransport.StartError) {
    self.replacements = replacements
    self.logger = logger
    self.requiresPins = requiresPins
    self.proxy = proxy
    self.descriptors = descriptors
    stalled = StalledResources(logger: logger, clock: SystemClock())
    var configuration = Self.configuration(0, state, replacements, logger)
    configuration.proxy = proxy
    let wanted = configuration.maxConnections
    configuration.maxConnections = descriptors.commonConnections(wanted: wanted)
    configuration.maxConnectionsPerHost = descriptors.connectionsPerHost(
      configuration.maxConnectionsPerHost, of: wanted)
    var pinned = configuration
    pinned.requiresPins = requiresPins
    common = try CurlTransport(configuration: pinned)
    collector = requiresPins ? LazyTransport(configuration) { _ in } : common
  }

  /// A transport for `resource`, one of `count` with HTTP/2: it starts with the first exchange, and ends with its last
  /// user.
  func makeHTTP2(_ resource: String, ofOneIn count: Int) -> LazyTransport {
    let number = state.withLock { state in
      state.count += 1
      return state.count
    }
    var configuration = Self.configuration(number, state, replacements, logger)
    configuration.proxy = proxy
    configuration.allowsHTTP2 = true
    configuration.requiresPins = requiresPins
    configuration.longestIteration = Self.longestIteration
    configuration.stallReport = { [stalled] in stalled.note(resource) }
    configuration.maxConnections = descriptors.connections(ofOneIn: count)
    let transport = LazyTransport(configuration) { [state] statistics in
      state.withLock { state in
        state.problems[number] = nil
        state.ended.add(statistics)
        state.others[number] = nil
      }
    }
    state.withLock { $0.others[number] = Weak(transport: transport) }
    return transport
  }

  /// How all of them fare.
  var condition: TransportState {
    let (ended, others, problem) = state.withLock {
      ($0.ended, $0.others.values.compactMap(\.transport), $0.problems.min { $0.key < $1.key }?.value)
    }
    var condition = ended
    condition.problem = problem
    condition.stalled = stalled.recent
    condition.add(common.statistics())
    for transport in others { condition.add(transport.statistics) }
    return condition
  }

  private static func configuration(
    _ number: Int, _ state: Locked<State>, _ replacements: FileReloadMonitor, _ logger: Logger
  ) -> CurlTransport.Configuration {
    var configuration = CurlTransport.Configuration()
    configuration.fileReport = { replacements.file($0, problem: $1) }
    configuration.faultReport = { [state] problem in
      state.withLock { $0.problems[number] = problem }
      if let problem {
        logger.error("no request can be set up", metadata: .of([.error: .string(problem)]))
      } else {
        logger.notice("requests can be set up again")
      }
    }
    return configuration
  }
}

extension TransportState {
  fileprivate mutating func add(_ statistics: CurlTransport.Statistics?) {
    guard let statistics else { return }
    connectionsDiscarded += statistics.connectionsDiscarded
    handlesRejected += statistics.handlesRejected
    stalls += statistics.stalls
  }
}
