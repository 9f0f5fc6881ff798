public import PosternSupport

/// How one exchange is made: the access to its server, and its limits.
public struct TransferOptions: Sendable, Hashable {
  /// How the server is reached. The transport returns an error for an `http://` URL unless some server may be reached
  /// without TLS.
  public var access: ServerAccess
  /// The deadline of the exchange; `TransportError.Code.timedOut` after it.
  public var deadline: Deadline
  /// The limits of a streamed body, from its head on, in place of `deadline`; nil: `deadline`.
  public var streaming: StreamBounds?
  /// The timeout for name resolution, TCP and TLS together; `serverUnreachable` after it.
  public var connectTimeout: Duration
  /// The largest decoded body in bytes; `responseTooLarge` beyond it.
  public var maxBodyBytes: Int
  /// Whether the address may be link-local (`IPAddress.isLinkLocal`). Only where the configuration itself contains that
  /// address: others decide what a name resolves to.
  public var allowsLinkLocal: Bool
  /// Progress, pausing and streaming of the request. The time paused is added to the deadline.
  public var control: TransferControl?
  /// The peer for which the exchange is made. Of the waiting exchanges, those of the uid with the fewest in flight
  /// start first, and a persistent connection is used for one uid only.
  public var peerID: PeerID
  /// The part of the uid's calls that the exchange may share a persistent connection with.
  public var partition = ConnectionPartition()
  /// Whether the exchange may use a persistent connection, and leave one. Off for requests with client credentials and
  /// responses with tokens, so that their connection is never used for another exchange.
  public var reusesConnections: Bool

  /// Options of the given values.
  public init(
    to access: ServerAccess = ServerAccess(),
    deadline: Deadline = .never,
    streaming: StreamBounds? = nil,
    connectTimeout: Duration = .seconds(10),
    maxBodyBytes: Int = 16 << 20,
    allowsLinkLocal: Bool = false,
    control: TransferControl? = nil,
    peerID: PeerID = .process,
    reusesConnections: Bool = true
  ) {
    self.access = access
    self.deadline = deadline
    self.streaming = streaming
    self.connectTimeout = connectTimeout
    self.maxBodyBytes = maxBodyBytes
    self.allowsLinkLocal = allowsLinkLocal
    self.control = control
    self.peerID = peerID
    self.reusesConnections = reusesConnections
  }
}

/// The calls of one uid that may share persistent connections. A server that ignores the body of a request reads it as
/// another request, and answers that where the response to the next request is expected: it must not be somebody else's.
public struct ConnectionPartition: Sendable, Hashable {
  /// Identifies the endpoint, or the `narrow`, that the call came through; nil: none. No connection is used for calls
  /// through two of them.
  public var narrowing: String?
  /// Identifies the user whose token goes along; nil: no user's does. A connection over which a body of a user's
  /// request has gone is used for this user only.
  public var user: Secret<String>?

  /// A partition of the given parts.
  public init(narrowing: String? = nil, user: Secret<String>? = nil) {
    self.narrowing = narrowing
    self.user = user
  }
}

/// How a server is reached.
public struct ServerAccess: Sendable, Hashable {
  /// The trust in the server, and the identity that is shown to it.
  public var tls: TLSSettings
  /// The servers that may be reached without TLS.
  public var plainHTTP: PlainHTTPRule
  /// Whether requests leave without the outbound proxy. Default false.
  public var bypassesProxy: Bool

  /// By default with TLS only, by the system's authorities, and through the outbound proxy if there is one.
  public init(
    tls: TLSSettings = TLSSettings(), plainHTTP: PlainHTTPRule = PlainHTTPRule(), bypassesProxy: Bool = false
  ) {
    self.tls = tls
    self.plainHTTP = plainHTTP
    self.bypassesProxy = bypassesProxy
  }
}

/// The settings of TLS towards a server.
public struct TLSSettings: Sendable, Hashable {
  /// PEM file with the certificate authorities to trust instead of the system's.
  public var caFile: String?
  /// The client certificate for a server that requests one; nil sends none.
  public var clientIdentity: ClientIdentity?
  /// The pins for the server's verified chain; nil for none.
  public var pins: KeyPins?

  /// Settings of the given parts.
  public init(caFile: String? = nil, clientIdentity: ClientIdentity? = nil, pins: KeyPins? = nil) {
    self.caFile = caFile
    self.clientIdentity = clientIdentity
    self.pins = pins
  }
}

/// The limits of a streamed body, which may have no end, such as server-sent events.
public struct StreamBounds: Sendable, Hashable {
  /// The longest time without a byte from the server. Time in which the reader of the body does not keep up does not
  /// count.
  public var silence: Duration
  /// The deadline of the whole body.
  public var deadline: Deadline

  /// Bounds of the given parts.
  public init(silence: Duration, deadline: Deadline = .never) {
    self.silence = silence
    self.deadline = deadline
  }
}

/// A client certificate for TLS, by its file. The transport notices when the file is replaced.
public struct ClientIdentity: Sendable, Hashable {
  /// The source of the private key.
  public enum Key: Sendable, Hashable {
    /// The path of a PEM file.
    case file(String)
    /// The key as PEM.
    case text(Secret<String>)
  }

  /// The PEM file of the certificate, followed by those of intermediate authorities.
  public let certificateFile: String
  /// The certificate's private key.
  public let key: Key

  /// An identity of these parts.
  public init(certificateFile: String, key: Key) {
    self.certificateFile = certificateFile
    self.key = key
  }
}

extension TransferOptions: ConciseStringConvertible {
  /// Bounds and trust.
  public var description: String {
    Concise.text("\(deadline)", "at most \(Concise.count(maxBodyBytes, "byte"))", "\(access.tls)")
  }
}

extension ConnectionPartition: ConciseStringConvertible {
  /// Whether it is a part at all, never whose.
  public var description: String {
    Concise.text(narrowing == nil ? "not narrowed" : "narrowed", user == nil ? "no user" : "one user")
  }
}

extension ServerAccess: ConciseStringConvertible {
  /// Trust, servers without TLS, and whether the proxy is bypassed.
  public var description: String {
    Concise.text("\(tls)", "\(plainHTTP)", bypassesProxy ? "without the proxy" : nil)
  }
}

extension TLSSettings: ConciseStringConvertible {
  /// Trust and client certificate.
  public var description: String {
    Concise.text(
      caFile.map { "CAs of \(Concise.name($0))" } ?? "the system's CAs", pins.map { "\($0)" },
      clientIdentity.map { "\($0)" })
  }
}

extension StreamBounds: ConciseStringConvertible {
  /// Silence and deadline.
  public var description: String { "at most \(silence) of silence, \(deadline)" }
}

extension ClientIdentity: ConciseStringConvertible {
  /// The certificate's file.
  public var description: String { "client certificate \(Concise.name(certificateFile))" }
}

extension ClientIdentity.Key: ConciseStringConvertible {
  /// The key's file, never the key.
  public var description: String {
    switch self {
    case .file(let name): "key file \(Concise.name(name))"
    case .text: "<secret>"
    }
  }
}
