public import HTTPMessages
public import PosternSupport

extension CurlTransport {
  /// The settings of the whole transport; those of one exchange are in `TransferOptions`.
  public struct Configuration: Sendable {
    private var trust = Trust()
    /// The outbound proxy, shared with whatever replaces it; nil is none. The environment is not used.
    public var proxy: OutboundProxySetting?
    /// Whether HTTP/2 is offered (by ALPN, so over TLS only). Off, because a hostile server can keep libcurl 7.88 busy
    /// with frames for many seconds, and with it all others on the thread: such origins belong on a transport of
    /// their own.
    public var allowsHTTP2 = false
    /// Whether exchanges share an HTTP/2 connection at the same time, instead of one after the other.
    ///
    /// Off, because libcurl 7.88 does not notice the reset of a stream that a neighbour has read off the socket: its
    /// exchange would hang until its deadline. It also does not distinguish a refused stream from one that was
    /// lost, so that requests which are not idempotent would fail whenever a server retires a busy connection.
    public var multiplexesHTTP2 = false

    private var connections = ConnectionBounds()
    private(set) var headLimits = ResponseHead.Limits(bytes: 256 << 10, lines: 1000, interim: 32)
    private var reports = Reports()

    /// The longest time the thread waits without looking at the clock and its inbox again. Only a bound: new work
    /// wakes it.
    public var pollInterval: Duration = .seconds(1)
    /// How long the thread may be inside libcurl without coming back, before all its connections are shut down; nil is
    /// for ever, for where nothing keeps it there. Seconds, not less: undoing content codings may take one.
    public var longestIteration: Duration?
    /// The clock of the deadlines.
    public var clock: any EngineClock

    /// The defaults, on `clock`.
    public init(clock: any EngineClock = SystemClock()) { self.clock = clock }
  }

  /// Takes what became of a replaced file: its path, and what is wrong with it.
  public typealias FileReport = @Sendable (_ path: String, _ problem: String?) -> Void

  /// Takes why no exchange can be set up, or nil when it can again.
  public typealias FaultReport = @Sendable (_ problem: String?) -> Void

  /// Versions of the libraries below the transport.
  public struct LibraryVersions: Sendable, Hashable {
    /// libcurl's version, such as `7.88.1`.
    public let curl: String
    /// The TLS library and its version, such as `OpenSSL/3.0.15`.
    public let tls: String
  }

  /// Why no transport could be made.
  public struct StartError: Error, Sendable, ConciseStringConvertible {
    /// For people.
    public let description: String

    init(_ description: String) { self.description = description }
  }
}

extension CurlTransport.Configuration {
  /// Which servers are trusted.
  private struct Trust {
    var caFile: String?
    var requiresPins = false
  }

  /// The number and the age of connections.
  private struct ConnectionBounds {
    var total = 256
    var perHost = 64
    var idleLifetime: Duration = .seconds(60)
    var lifetime: Duration = .seconds(600)
  }

  /// The recipients of what the thread reports.
  private struct Reports {
    var file: CurlTransport.FileReport?
    var fault: CurlTransport.FaultReport?
    var stall: (@Sendable () -> Void)?
  }

  /// PEM file with the authorities to trust where `TLSSettings.caFile` names none; nil is the system's bundle.
  public var caFile: String? {
    get { trust.caFile }
    set { trust.caFile = newValue }
  }
  /// Whether an exchange without `TLSSettings.pins` is an error (`TransportError.Code.pinMismatch`), before a
  /// connection is opened: whatever it is for. Default false.
  public var requiresPins: Bool {
    get { trust.requiresPins }
    set { trust.requiresPins = newValue }
  }
  /// Bound of open connections, used or kept; exchanges beyond it wait, and their deadlines run.
  public var maxConnections: Int {
    get { connections.total }
    set { connections.total = newValue }
  }
  /// Bound of connections in use to one origin, and of those kept there for one uid; exchanges beyond it wait, and
  /// their deadlines run.
  public var maxConnectionsPerHost: Int {
    get { connections.perHost }
    set { connections.perHost = newValue }
  }
  /// How long an unused connection may be taken up again; whole seconds count.
  public var idleLifetime: Duration {
    get { connections.idleLifetime }
    set { connections.idleLifetime = newValue }
  }
  /// The age beyond which a connection takes no new exchange, so that changed addresses and authorities come into
  /// effect; whole seconds count, zero is no bound.
  public var connectionLifetime: Duration {
    get { connections.lifetime }
    set { connections.lifetime = newValue }
  }

  /// Called when a replaced file of certificates is not valid, so that the content before stays in force (with the
  /// reason), and when it is valid again (nil). On the transport's thread.
  public var fileReport: CurlTransport.FileReport? {
    get { reports.file }
    set { reports.file = newValue }
  }
  /// Called when libcurl rejects an option on a new handle (with the reason), and when handles can be set up again
  /// (nil). On the transport's thread.
  public var faultReport: CurlTransport.FaultReport? {
    get { reports.fault }
    set { reports.fault = newValue }
  }
  /// Called each time that libcurl has not come back and connections were shut down, on a thread that does nothing
  /// else.
  public var stallReport: (@Sendable () -> Void)? {
    get { reports.stall }
    set { reports.stall = newValue }
  }
}

extension CurlTransport.Configuration: ConciseStringConvertible {
  /// Trust, proxy and HTTP version: never the proxy's credentials.
  public var description: String {
    "\(caFile.map { "CAs of \($0)" } ?? "the system's CAs"), \(proxy.map { "\($0)" } ?? "no proxy"), HTTP/\(allowsHTTP2 ? "2" : "1.1")"
  }
}

extension CurlTransport.LibraryVersions: ConciseStringConvertible {
  /// Both versions.
  public var description: String { "libcurl \(curl), \(tls)" }
}
