import PosternJSON

extension Fault {
  /// The answer of the kinds that are the same everywhere; nil for the others.
  var generalReply: Reply? {
    switch kind {
    case .serverError:
      Reply(status: 500, json: ["error": "server_error"])
    case .unavailable:
      Reply(
        status: 503, json: ["error": "temporarily_unavailable"],
        headers: [("retry-after", String(retryAfterSeconds))])
    case .malformedJSON:
      Reply(type: "application/json", bytes: Array(#"{"access_token":"cut off in the mid"#.utf8))
    case .html:
      Reply(type: "text/html; charset=utf-8", bytes: Array("<!doctype html><title>Proxy</title><p>Sign in\n".utf8))
    case .emptyUnauthorized:
      Reply(status: 401)
    default:
      nil
    }
  }

  /// The answer of the kinds that only the token endpoint knows.
  var oauthReply: Reply {
    kind == .rejectGrant
      ? OAuthError(.invalidGrant, "rejected by a switched fault").reply
      : OAuthError(.invalidClient, "rejected by a switched fault").reply
  }

  /// Makes an ID token say something wrong.
  func spoil(_ claims: inout JSONObject) {
    switch kind {
    case .wrongIssuer: claims["iss"] = "https://another.example"
    case .wrongAudience: claims["aud"] = "another"
    case .wrongNonce: claims["nonce"] = "another-nonce"
    case .wrongHash: claims["at_hash"] = "AAAAAAAAAAAAAAAAAAAAAA"
    case .wrongSubject: claims["sub"] = "user-0"
    case .expired:
      claims["iat"] = 1_000_000_000
      claims["exp"] = 1_000_000_060
    default: break
    }
  }
}
