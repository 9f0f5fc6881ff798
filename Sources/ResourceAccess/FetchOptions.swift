public import HTTPMessages
public import OAuthClient
public import PosternSupport
public import Sessions

/// The body of a request, read while it is sent.
public struct BodySupply: Sendable {
  /// A step of reading it.
  public enum Read: Sendable {
    /// The next bytes; none at the end.
    case bytes([UInt8])
    /// It cannot be read to its end: the fetch fails with this clause for people.
    case failed(String)
  }

  /// How many bytes it has; nil: that is known at its end only, and it is sent in chunks.
  public var length: Int64?
  /// Reads the next bytes; `failed` when the calling task is cancelled.
  public var next: @Sendable () async -> Read
  /// Starts again from the beginning, for a retry of the request; false when that is not possible.
  public var rewind: @Sendable () -> Bool

  /// A body of the given parts.
  public init(
    length: Int64?, next: @escaping @Sendable () async -> Read, rewind: @escaping @Sendable () -> Bool = { false }
  ) {
    self.length = length
    self.next = next
    self.rewind = rewind
  }
}

/// The options that a caller may set for one fetch.
public struct FetchOptions: Sendable {
  /// The kind of token that the request carries; nil: the resource server's.
  public var authentication: ResourceServer.Authentication?
  /// The session whose token the request carries, with `user` and `implicit`.
  public var session: SessionRef?
  /// The time that the whole fetch may take, token, redirects and retry included; nil: the resource server's. At most
  /// `ResourceServer.maxTimeout`.
  public var timeout: Duration?
  /// The call that the fetch is made for: its deadline holds whatever `timeout` is, its trace is passed on, and of
  /// fetches that wait, those of the uid with the fewest in flight go first.
  public var scope: CallScope
  /// Whether redirects are followed.
  public var followsRedirects: Bool
  /// The uid and session whose cookies are sent, where the resource keeps any; nil: those of `session`, where that
  /// names one.
  public var cookieScope: CookieScope?
  /// The inbound token for whose user the request is made, with `onBehalfOf`.
  public var onBehalfOf: InboundToken?
  /// How policy advice that the fetch meets is satisfied, where the server has rules for it or a policy is set here;
  /// nil: a response with advice is a response like any other, with `advices`.
  public var advice: FetchAdvice?
  /// The task by which the fetch can be watched, paused and cancelled, one task for each fetch; nil: it cannot be.
  public var task: NetworkTask?
  /// Where long bodies are encrypted and decrypted; nil: where the fetch is carried out.
  public var longWork: LongWork?

  /// Decides whether a response means that the token must be refreshed; nil: the resource's rule decides.
  public var tokenDelegate: (any TokenManagementPolicyDelegate)?
  /// The policy that replaces the resource's rules and `tokenDelegate`: which requests carry the token, and when it
  /// must be refreshed. It covers none but the resource server's URLs. Nil: all of them carry it.
  public var tokenPolicy: TokenManagementPolicy?

  /// Takes the body in pieces, in order, before the response is returned, which has none then; nil: the response has
  /// it. What does not return lets the server wait; false ends the transfer, and the fetch as `request_cancelled`.
  public var deliver: (@Sendable ([UInt8]) async -> Bool)?
  /// With `deliver`: takes the response's head, once, before the first piece and as soon as it is certain that no
  /// other request follows. False ends the fetch as it does there.
  public var deliverHead: (@Sendable (HTTPResponseHead) async -> Bool)?
  /// The largest piece, in bytes: fewer and larger ones cost less.
  public var pieceBytes = TransferControl.pieceBytes
  /// The request's body, in place of the request's own; nil: that one.
  public var supply: BodySupply?

  /// Whether the request is forwarded for a program that speaks HTTP: it may have any method but CONNECT and TRACE,
  /// and where its body is supplied nothing but `deadline` bounds the time until the response begins.
  package var isForwarded = false
  /// The URL by which the program of a forwarded request knows the resource's base URL.
  package var gatewayURL: HTTPURL?
  /// Identifies the endpoint, or the `narrow`, that the call came through; nil: none. Calls through another one have
  /// connections and cookies of their own, and nothing is sent that cannot be judged.
  package var narrowing: String?

  /// Options; the defaults are those of a caller that chooses nothing.
  public init(
    authentication: ResourceServer.Authentication? = nil, timeout: Duration? = nil, followsRedirects: Bool = true,
    in scope: CallScope = CallScope()
  ) {
    self.authentication = authentication
    self.timeout = timeout
    self.scope = scope
    self.followsRedirects = followsRedirects
  }

  /// Whether a delegate is there that may be called, with a task.
  var hasDelegate: Bool {
    tokenDelegate != nil || tokenPolicy?.hasDelegate == true || advice?.delegate != nil
      || advice?.policy?.hasDelegate == true
  }

  /// Whether a delegate decides about responses.
  var consultsDelegate: Bool {
    tokenDelegate != nil || tokenPolicy?.hasDelegate == true || advice?.consultsDelegate == true
  }

  /// The same with that token, and no other session's.
  package func authenticated(_ authentication: ResourceServer.Authentication, _ session: SessionRef? = nil)
    -> FetchOptions
  {
    var options = self
    options.authentication = authentication
    options.session = session
    return options
  }
}

extension BodySupply: ConciseStringConvertible {
  /// The length.
  public var description: String { length.map { Concise.count($0, "byte") } ?? "bytes of unknown number" }
}

extension BodySupply.Read: ConciseStringConvertible {
  /// The number of bytes, or why there are none.
  public var description: String {
    switch self {
    case .bytes(let bytes): Concise.count(bytes.count, "byte")
    case .failed(let reason): "failed: \(Concise.name(reason))"
    }
  }
}

extension FetchOptions: ConciseStringConvertible {
  /// Authentication, session and timeout.
  public var description: String {
    Concise.text(
      "fetch options", authentication.map { "authentication \($0.rawValue)" }, session.map { "\($0)" },
      onBehalfOf.map { "\($0)" }, timeout.map { "timeout \($0)" }, followsRedirects ? nil : "without redirects",
      deliver == nil ? nil : "response in pieces", supply.map { "request of \($0)" })
  }
}
