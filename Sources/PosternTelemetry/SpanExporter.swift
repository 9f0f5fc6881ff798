public import HTTPMessages
import PosternJSON
public import PosternSupport

/// Sends spans to a collector: OTLP over HTTP with JSON bodies (OpenTelemetry Protocol 1.x), in batches, behind the
/// back of whatever is traced.
///
/// A collector that is slow, refuses or is not there costs spans, which are counted, and nothing else.
public final class SpanExporter: Sendable {
  /// Where spans go, and how.
  public struct Settings: Sendable {
    /// The collector's URL for traces.
    public var endpoint: HTTPURL
    /// Fields of each request, such as those that authenticate it.
    public var fields: HTTPFields
    /// PEM file with the authorities to trust instead of the system's.
    public var caFile: String?
    /// How long one request may take.
    public var timeout: Duration

    /// Settings.
    public init(endpoint: HTTPURL, fields: HTTPFields = HTTPFields(), caFile: String? = nil, timeout: Duration) {
      self.endpoint = endpoint
      self.fields = fields
      self.caFile = caFile
      self.timeout = timeout
    }
  }

  /// What has become of spans since the start.
  public struct Counts: Sendable, Hashable {
    /// Taken by the collector.
    public internal(set) var exported: UInt64 = 0
    /// Given up: the queue was full, or the collector did not take them.
    public internal(set) var dropped: UInt64 = 0
  }

  /// Something about the collector that its operator should hear of.
  public enum Event: Sendable, Hashable {
    /// It takes no spans.
    case failing(String)
    /// It does again.
    case recovered
  }

  /// How many spans may wait.
  static let capacity = 4096
  /// How many go out in one request.
  static let batchSize = 512
  /// How often it is looked for spans.
  static let interval = Duration.seconds(1)
  /// How often a batch is tried.
  static let attempts = 5
  /// The longest wait that a collector may ask for.
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

  /// What has become of spans.
  public var counts: Counts { queue.counts }

  /// Takes a span, at once; counts it as dropped when too many wait.
  public func export(_ span: TelemetrySpan) { queue.add(span) }

  /// Sends what comes, until the calling task is cancelled.
  public func run() async {
    while (try? await clock.sleep(for: Self.interval)) != nil {
      while !Task.isCancelled {
        let batch = queue.take(Self.batchSize)
        guard !batch.isEmpty else { break }
        await deliver(batch)
      }
    }
  }

  /// Sends what still waits, once; what the collector does not take in that time is given up.
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
    var pause = Duration.seconds(1)
    for number in 1...Self.attempts {
      switch await attempt(batch, by: .never) {
      case .taken:
        queue.exported(batch.count)
        tell(nil)
        return
      case .refused(let reason):
        tell(reason)
        return queue.dropped(batch.count)
      case .later(let wish, let reason):
        if let reason { tell(reason) }
        guard number < Self.attempts else { break }
        guard (try? await clock.sleep(for: min(max(wish ?? pause, pause), Self.longestWait))) != nil else {
          // The end: it is tried once more by `flush`.
          return queue.putBack(batch)
        }
        pause = pause * 2
      }
    }
    queue.dropped(batch.count)
  }

  private enum Outcome {
    case taken
    /// Not with this batch.
    case refused(String)
    /// Perhaps after a while.
    case later(Duration?, String?)
  }

  private func attempt(_ batch: [TelemetrySpan], by end: Deadline) async -> Outcome {
    var fields = settings.fields
    fields["Content-Type"] = "application/json"
    fields["User-Agent"] = "postern/\(resource.serviceVersion)"
    let request = HTTPRequest(
      method: "POST", url: settings.endpoint, fields: fields,
      body: JSONWriter().write(OTLPDocument.make(batch, of: resource)))
    // No secret of an issuer goes there: plain http on loopback is as good as the Unix socket beside it.
    let options = TransferOptions(
      deadline: end.earlier(Deadline(in: settings.timeout, on: clock)), connectTimeout: settings.timeout,
      maxBodyBytes: 1 << 20, allowsPlainHTTP: settings.endpoint.origin.isLoopbackAddress, caFile: settings.caFile,
      allowsLinkLocal: settings.endpoint.origin.isLinkLocalAddress)
    do throws(TransportError) {
      let response = try await transport.send(request, options: options)
      switch response.status {
      case 200..<300: return .taken
      case 429, 502, 503, 504:
        let seconds = response.fields["Retry-After"].flatMap { Int64($0) }
        return .later(seconds.map { .seconds(max(0, min($0, 3600))) }, "status \(response.status)")
      default: return .refused("status \(response.status)")
      }
    } catch {
      // Our own end says nothing about the collector.
      return error.code == .cancelled ? .later(nil, nil) : .later(nil, error.code.rawValue)
    }
  }

  /// Says when it begins to fail, and when that is over.
  private func tell(_ failure: String?) {
    let isNews = isFailing.withLock { isFailing in
      defer { isFailing = failure != nil }
      return isFailing != (failure != nil)
    }
    if isNews { report(failure.map { .failing($0) } ?? .recovered) }
  }
}
