public import HTTPMessages
public import OAuthClient
public import PosternSupport

/// Why a fetch has no result. An HTTP status is never one of these: it is a result.
public struct ResourceError: Error, Sendable {
  /// Why there is no result.
  public let code: ErrorCode
  /// The parameter of the call that is not valid.
  public let path: ParameterPath?
  /// Whether the request to the resource may have had an effect.
  public let outcome: TransportError.Outcome
  /// The response of another server.
  public let upstream: UpstreamFault?
  /// Whether the same call may succeed later; nil where the question makes no sense.
  public let retryable: Bool?
  /// How long to wait before that.
  public let retryAfter: Duration?
  /// For people and logs: no token, query, header value or body.
  public let detail: String
  /// Where the fetch stopped, with `advice_required` and `advice_failed`.
  public let stop: AdviceStop?
  /// The issuer's requirement on the user, with `interaction_required`.
  public let interaction: RequiredInteraction?
  /// The issuer that gave no token, by its configured name; nil where the error is about something else.
  public internal(set) var issuer: String?
  /// The failure of the outbound proxy, where that is the reason.
  public internal(set) var proxyFault: TransportError.ProxyFault?

  /// An error of the given parts.
  public init(
    _ code: ErrorCode, _ detail: String, path: ParameterPath? = nil, outcome: TransportError.Outcome = .notSent,
    upstream: UpstreamFault? = nil, retryable: Bool? = nil, retryAfter: Duration? = nil, stop: AdviceStop? = nil,
    interaction: RequiredInteraction? = nil
  ) {
    self.code = code
    self.path = path
    self.outcome = outcome
    self.upstream = upstream
    self.retryable = retryable
    self.retryAfter = retryAfter
    self.detail = detail
    self.stop = stop
    self.interaction = interaction
  }

  /// The same, of a fetch whose request was answered.
  var answered: ResourceError {
    var error = ResourceError(
      code, detail, path: path, outcome: .replied, upstream: upstream, retryable: retryable, retryAfter: retryAfter,
      stop: stop, interaction: interaction)
    error.issuer = issuer
    error.proxyFault = proxyFault
    return error
  }
}

extension ResourceError: ConciseStringConvertible {
  /// `reason: detail`.
  public var description: String { "\(code.reason): \(detail)" }
}
