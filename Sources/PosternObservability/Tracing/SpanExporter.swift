public import HTTPMessages
import PosternJSON
public import PosternSupport

/// Sends spans to a collector: OTLP over HTTP with JSON bodies (OpenTelemetry Protocol 1.x), in batches, in the
/// background.
///
/// When the collector is slow, unreachable or rejects a batch, spans are dropped and counted. Nothing else is affected.
public final class SpanExporter: Sendable {
  /// The settings of an exporter.
  public struct Settings: Sendable {
    /// The collector's URL for traces.
    public var endpoint: HTTPURL
    /// Header fields of each request, such as those that authenticate it.
    public var fields: HTTPFields
    /// The PEM file with the authorities to trust instead of the system's.
    public var caFile: String?
    /// The timeout of one request.
    public var timeout: Duration

    /// Settings.
    public init(endpoint: HTTPURL, fields: HTTPFields = HTTPFields(), caFile: String? = nil, timeout: Duration) {
      self.endpoint = endpoint
      self.fields = fields
      self.caFile = caFile
      self.timeout = timeout
    }
  }

  /// The numbers of spans since the start.
  public struct Counts: Sendable, Hashable {
    /// Accepted by the collector.
    public internal(set) var exported: UInt64 = 0
    /// Dropped: the queue was full, or the collector did not accept them.
    public internal(set) var dropped: UInt64 = 0
  }

  /// A change of the collector's state, for the operator.
  public enum Event: Sendable, Hashable {
    /// The collector accepts no spans.
    case failing(String)
    /// The collector accepts spans again.
    case recovered
  }

  /// The capacity of the queue.
  static let capacity = 4096
  /// The most spans in one request.
  static let batchSize = 512
  /// The interval at which the queue is read.
  static let interval = Duration.seconds(1)
  /// The number of attempts for a batch.
  static let attempts = 5
  /// The longest delay that a collector may request.
  static let longestWait = Duration.seconds(30)

  private let settings: Settings
  private let resource: TelemetryResource
  private let transport: any HTTPTransport
  private let clock: any EngineClock
  private let report: @Sendable (Event) -> Void
  private let queue = SpanQueue(capacity: capacity)
  private let isFailing = Locked(false)

  /// An exporter over `transport`; `report` must not block.
  public init(
    _ settings: Settings, resource: TelemetryResource, transport: any HTTPTransport, clock: any EngineClock,
    report: @escaping @Sendable (Event) -> Void
  ) {
    self.settings = settings
    self.resource = resource
    self.transport = transport
    self.clock = clock
    self.report = report
  }

  /// The numbers of spans so far.
  public var counts: Counts { queue.counts }

  /// Queues a span without waiting; counts it as dropped when the queue is full.
  public func export(_ span: TelemetrySpan) { queue.add(span) }

  /// Sends queued spans until the calling task is cancelled.
  public func run() async {
    while (try? await clock.sleep(for: Self.interval)) != nil {
      while !Task.isCancelled {
        let batch = queue.take(Self.batchSize)
        guard !batch.isEmpty else { break }
        await deliver(batch)
      }
    }
  }

  /// Sends the queued spans in one attempt each; those not accepted within `patience` are dropped.
  public func flush(within patience: Duration) async {
    let deadline = Deadline(in: patience, on: clock)
    while true {
      let batch = queue.take(Self.batchSize)
      guard !batch.isEmpty else { return }
      if !deadline.hasPassed(on: clock), case .taken = await attempt(batch, by: deadline) {
        queue.exported(batch.count)
      } else {
        queue.dropped(batch.count)
      }
    }
  }

  private func deliver(_ batch: [TelemetrySpan]) async {
    var backoff = Backoff(first: .seconds(1), longest: Self.longestWait)
    for number in 1...Self.attempts {
      switch await attempt(batch, by: .never) {
      case .taken:
        queue.exported(batch.count)
        setFailure(nil)
        return
      case .rejected(let reason):
        setFailure(reason)
        return queue.dropped(batch.count)
      case .later(let requested, let reason):
        if let reason { setFailure(reason) }
        guard number < Self.attempts else { break }
        let wait = backoff.fail(at: clock.monotonicNow, retryAfter: requested)
        guard (try? await clock.sleep(for: min(wait, Self.longestWait))) != nil else {
          // Cancelled: `flush` tries once more.
          return queue.putBack(batch)
        }
      }
    }
    queue.dropped(batch.count)
  }

  private enum Outcome {
    case taken
    /// A retry would fail, too.
    case rejected(String)
    /// A retry may succeed, after the delay that the collector requests; with the reason, where that is the collector.
    case later(Duration?, String?)
  }

  private func attempt(_ batch: [TelemetrySpan], by end: Deadline) async -> Outcome {
    var fields = settings.fields
    fields["Content-Type"] = "application/json"
    fields["User-Agent"] = "postern/\(resource.serviceVersion)"
    let request = HTTPRequest(
      method: "POST", url: settings.endpoint, fields: fields,
      body: JSONWriter().write(OTLPDocument.make(batch, of: resource)))
    // The spans have no secrets of an issuer: plain http on loopback is as safe as the Unix socket.
    let access = ServerAccess(
      tls: TLSSettings(caFile: settings.caFile),
      plainHTTP: PlainHTTPRule(allowsLoopback: settings.endpoint.origin.isLoopbackAddress))
    let options = TransferOptions(
      to: access, deadline: end.earlier(Deadline(in: settings.timeout, on: clock)), connectTimeout: settings.timeout,
      maxBodyBytes: 1 << 20, allowsLinkLocal: settings.endpoint.origin.isLinkLocalAddress)
    do throws(TransportError) {
      let response = try await transport.send(request, options: options)
      switch response.status {
      case 200..<300: return .taken
      case 429, 502, 503, 504:
        let seconds = response.fields["Retry-After"].flatMap { Int64($0) }
        return .later(seconds.map { .seconds(max(0, min($0, 3600))) }, "status \(response.status)")
      default: return .rejected("status \(response.status)")
      }
    } catch {
      // A cancelled request is no failure of the collector.
      return error.code == .cancelled ? .later(nil, nil) : .later(nil, error.code.rawValue)
    }
  }

  /// Reports the first failure, and the first success after it.
  private func setFailure(_ failure: String?) {
    let isChanged = isFailing.withLock { isFailing in
      defer { isFailing = failure != nil }
      return isFailing != (failure != nil)
    }
    if isChanged { report(failure.map { .failing($0) } ?? .recovered) }
  }
}

/// The queue of spans for the collector. Bounded, since callers do not wait for the collector.
final class SpanQueue: Sendable {
  private struct State {
    var spans: [TelemetrySpan] = []
    var counts = SpanExporter.Counts()
  }

  private let capacity: Int
  private let state = Locked(State())

  init(capacity: Int) { self.capacity = capacity }

  /// Queues a span, or counts it as dropped.
  func add(_ span: TelemetrySpan) {
    state.withLock { state in
      guard state.spans.count < capacity else { return state.counts.dropped += 1 }
      state.spans.append(span)
    }
  }

  /// At most `limit` spans, the oldest first.
  func take(_ limit: Int) -> [TelemetrySpan] {
    state.withLock { state in
      let taken = Array(state.spans.prefix(limit))
      state.spans.removeFirst(taken.count)
      return taken
    }
  }

  /// Returns spans to the front of the queue.
  func putBack(_ spans: [TelemetrySpan]) { state.withLock { $0.spans.insert(contentsOf: spans, at: 0) } }

  /// Counts spans accepted by the collector.
  func exported(_ count: Int) { state.withLock { $0.counts.exported += UInt64(count) } }

  /// Counts dropped spans.
  func dropped(_ count: Int) { state.withLock { $0.counts.dropped += UInt64(count) } }

  var counts: SpanExporter.Counts { state.withLock { $0.counts } }
}
