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
  private struct Values {
    var authentication: ResourceServer.Authentication?
    var session: SessionRef?
    var timeout: Duration?
    var scope: CallScope = CallScope()
    var followsRedirects: Bool = true
    var cookieScope: CookieScope?
    var onBehalfOf: InboundToken?
    var advice: FetchAdvice?
    var task: NetworkTask?
    var longWork: LongWork?
    var tokenDelegate: (any TokenManagementPolicyDelegate)?
    var tokenPolicy: TokenManagementPolicy?
    var deliver: (@Sendable ([UInt8]) async -> Bool)?
    var deliverHead: (@Sendable (HTTPResponseHead) async -> Bool)?
    var pieceBytes: Int = TransferControl.pieceBytes
    var mayReturnWhole: Bool = false
    var supply: BodySupply?
    var isForwarded: Bool = false
    var gatewayURL: HTTPURL?
    var narrowing: String?
  }

  /// `@unchecked`: changed only while one copy of the options has it. So no two accesses overlap, either.
  private final class Contents: @unchecked Sendable {
    @exclusivity(unchecked) var values: Values

    init(_ values: Values) { self.values = values }
  }

  /// Shared by copies until one of them is changed: options are handed down through many functions.
  private var contents: Contents

  /// The contents, to be changed.
  private var own: Contents {
    mutating get {
      if !isKnownUniquelyReferenced(&contents) { contents = Contents(contents.values) }
      return contents
    }
  }

  /// The kind of token that the request carries; nil: the resource server's.
  public var authentication: ResourceServer.Authentication? {
    get { contents.values.authentication }
    set { own.values.authentication = newValue }
  }
  /// The session whose token the request carries, with `user` and `implicit`.
  public var session: SessionRef? {
    get { contents.values.session }
    set { own.values.session = newValue }
  }
  /// The time that the whole fetch may take, token, redirects and retry included; nil: the resource server's. At most
  /// `ResourceServer.maxTimeout`.
  public var timeout: Duration? {
    get { contents.values.timeout }
    set { own.values.timeout = newValue }
  }
  /// The call that the fetch is made for: its deadline holds whatever `timeout` is, its trace is passed on, and of
  /// fetches that wait, those of the uid with the fewest in flight go first.
  public var scope: CallScope {
    get { contents.values.scope }
    set { own.values.scope = newValue }
  }
  /// Whether redirects are followed.
  public var followsRedirects: Bool {
    get { contents.values.followsRedirects }
    set { own.values.followsRedirects = newValue }
  }
  /// The uid and session whose cookies are sent, where the resource keeps any; nil: those of `session`, where that
  /// names one.
  public var cookieScope: CookieScope? {
    get { contents.values.cookieScope }
    set { own.values.cookieScope = newValue }
  }
  /// The inbound token for whose user the request is made, with `onBehalfOf`.
  public var onBehalfOf: InboundToken? {
    get { contents.values.onBehalfOf }
    set { own.values.onBehalfOf = newValue }
  }
  /// How policy advice that the fetch meets is satisfied, where the server has rules for it or a policy is set here;
  /// nil: a response with advice is a response like any other, with `advices`.
  public var advice: FetchAdvice? {
    get { contents.values.advice }
    set { own.values.advice = newValue }
  }
  /// The task by which the fetch can be watched, paused and cancelled, one task for each fetch; nil: it cannot be.
  public var task: NetworkTask? {
    get { contents.values.task }
    set { own.values.task = newValue }
  }
  /// Where long bodies are encrypted and decrypted; nil: where the fetch is carried out.
  public var longWork: LongWork? {
    get { contents.values.longWork }
    set { own.values.longWork = newValue }
  }

  /// Decides whether a response means that the token must be refreshed; nil: the resource's rule decides.
  public var tokenDelegate: (any TokenManagementPolicyDelegate)? {
    get { contents.values.tokenDelegate }
    set { own.values.tokenDelegate = newValue }
  }
  /// The policy that replaces the resource's rules and `tokenDelegate`: which requests carry the token, and when it
  /// must be refreshed. It covers none but the resource server's URLs. Nil: all of them carry it.
  public var tokenPolicy: TokenManagementPolicy? {
    get { contents.values.tokenPolicy }
    set { own.values.tokenPolicy = newValue }
  }

  /// Takes the body in pieces, in order, before the response is returned, which has none then; nil: the response has
  /// it. What does not return lets the server wait; false ends the transfer, and the fetch as `request_cancelled`.
  public var deliver: (@Sendable ([UInt8]) async -> Bool)? {
    get { contents.values.deliver }
    set { own.values.deliver = newValue }
  }
  /// With `deliver`: takes the response's head, once, before the first piece and as soon as it is certain that no
  /// other request follows. False ends the fetch as it does there.
  public var deliverHead: (@Sendable (HTTPResponseHead) async -> Bool)? {
    get { contents.values.deliverHead }
    set { own.values.deliverHead = newValue }
  }
  /// The largest piece, in bytes: fewer and larger ones cost less.
  public var pieceBytes: Int {
    get { contents.values.pieceBytes }
    set { own.values.pieceBytes = newValue }
  }
  /// With `deliver`: whether a response that has come as a whole before any of it was delivered is returned with its
  /// body instead.
  package var mayReturnWhole: Bool {
    get { contents.values.mayReturnWhole }
    set { own.values.mayReturnWhole = newValue }
  }
  /// The request's body, in place of the request's own; nil: that one.
  public var supply: BodySupply? {
    get { contents.values.supply }
    set { own.values.supply = newValue }
  }

  /// Whether the request is forwarded for a program that speaks HTTP: it may have any method but CONNECT and TRACE,
  /// and where its body is supplied nothing but `deadline` bounds the time until the response begins.
  package var isForwarded: Bool {
    get { contents.values.isForwarded }
    set { own.values.isForwarded = newValue }
  }
  /// The URL by which the program of a forwarded request knows the resource's base URL.
  package var gatewayURL: HTTPURL? {
    get { contents.values.gatewayURL }
    set { own.values.gatewayURL = newValue }
  }
  /// Identifies the endpoint, or the `narrow`, that the call came through; nil: none. Calls through another one have
  /// connections and cookies of their own, and nothing is sent that cannot be judged.
  package var narrowing: String? {
    get { contents.values.narrowing }
    set { own.values.narrowing = newValue }
  }

  /// Options; the defaults are those of a caller that chooses nothing.
  public init(
    authentication: ResourceServer.Authentication? = nil, timeout: Duration? = nil, followsRedirects: Bool = true,
    in scope: CallScope = CallScope()
  ) {
    contents = Contents(
      Values(
        authentication: authentication, timeout: timeout, scope: scope, followsRedirects: followsRedirects))
  }

  /// Whether a delegate is there that may be called, with a task.
  var hasDelegate: Bool {
    tokenDelegate != nil || tokenPolicy?.hasDelegate == true || advice?.delegate != nil
      || advice?.policy?.hasDelegate == true
  }

  /// Whether a delegate decides about responses.
  var consultsDelegate: Bool {
    tokenDelegate != nil || tokenPolicy?.hasDelegate == true || advice?.consultsDelegate == true
      || advice?.policy != nil
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
