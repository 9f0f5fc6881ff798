import OAuthClient

/// Why there are no credentials, or no token.
enum AdobePassRefusal: Error {
  /// What an endpoint of the client said; `isForeign` where it does not know the client any more.
  case endpoint(TokenError, isForeign: Bool)
  /// Anything else.
  case fault(DecisionFault)

  /// Whether another registration is what helps.
  var isForeign: Bool {
    if case .endpoint(_, let isForeign) = self { isForeign } else { false }
  }

  /// The sidecar's own trouble.
  static func trouble(_ details: String, retry: DecisionFault.Retry = .never) -> AdobePassRefusal {
    .fault(DecisionFault(.accessTokenUnavailable(details), retry: retry))
  }
}
