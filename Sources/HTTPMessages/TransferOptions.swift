public import PosternSupport

/// How one exchange is carried out: bounds and trust, never content.
public struct TransferOptions: Sendable, Hashable {
  /// When the exchange must be over; running out is `TransportError.Code.timedOut`.
  public var deadline: Deadline
  /// What bounds a body that is taken in pieces, from its head on, in place of `deadline`; nil: that does.
  public var streaming: StreamBounds?
  /// Bound for name resolution, TCP and TLS together; `serverUnreachable` beyond it.
  public var connectTimeout: Duration
  /// Bound of the decoded body in bytes; `responseTooLarge` beyond it.
  public var maxBodyBytes: Int
  /// Whether `http://` may be used at all. Off, the transport refuses such a URL by itself.
  public var allowsPlainHTTP: Bool
  /// PEM file with the certificate authorities to trust instead of the system's.
  public var caFile: String?
  /// Who to be towards a server that asks for a certificate; nil is nobody.
  public var clientIdentity: ClientIdentity?
  /// What the server's verified chain must hold besides; nil pins nothing.
  public var pins: KeyPins?
  /// Whether the address may be link-local (`IPAddress.isLinkLocal`): only where the configuration itself names that
  /// address, since what a name leads to others decide.
  public var allowsLinkLocal: Bool
  /// The hand on the request, where somebody has one. Its time held is added to the deadline.
  public var control: TransferControl?
  /// For whom it is: where exchanges wait for each other, those of whoever has fewest go first; and connections are
  /// kept for one uid each.
  public var requester: Requester
  /// Whether it may go over a kept connection, and its own be kept. Off for what carries a client's credentials or
  /// brings tokens: no other exchange has ever had, or will ever have, anything to do with its connection.
  public var reusesConnections: Bool

  /// Options; the defaults are those of a call nobody configured.
  public init(
    deadline: Deadline = .never,
    streaming: StreamBounds? = nil,
    connectTimeout: Duration = .seconds(10),
    maxBodyBytes: Int = 16 << 20,
    allowsPlainHTTP: Bool = false,
    caFile: String? = nil,
    clientIdentity: ClientIdentity? = nil,
    pins: KeyPins? = nil,
    allowsLinkLocal: Bool = false,
    control: TransferControl? = nil,
    requester: Requester = .process,
    reusesConnections: Bool = true
  ) {
    self.deadline = deadline
    self.streaming = streaming
    self.connectTimeout = connectTimeout
    self.maxBodyBytes = maxBodyBytes
    self.allowsPlainHTTP = allowsPlainHTTP
    self.caFile = caFile
    self.clientIdentity = clientIdentity
    self.pins = pins
    self.allowsLinkLocal = allowsLinkLocal
    self.control = control
    self.requester = requester
    self.reusesConnections = reusesConnections
  }
}
