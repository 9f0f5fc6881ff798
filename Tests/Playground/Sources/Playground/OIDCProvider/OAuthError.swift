import NIOHTTP1
import PosternJSON

/// An error answer of an OAuth endpoint (RFC 6749 section 5.2).
struct OAuthError: Error {
  /// The error codes in use.
  enum Code: String, Sendable {
    case invalidRequest = "invalid_request"
    case invalidClient = "invalid_client"
    case invalidGrant = "invalid_grant"
    case invalidScope = "invalid_scope"
    /// RFC 8707 section 2.
    case invalidTarget = "invalid_target"
    case unauthorizedClient = "unauthorized_client"
    case unsupportedGrantType = "unsupported_grant_type"
    /// RFC 8628 section 3.5.
    case authorizationPending = "authorization_pending"
    case slowDown = "slow_down"
    case expiredToken = "expired_token"
    /// RFC 6749 section 4.1.2.1, RFC 8628 section 3.5.
    case accessDenied = "access_denied"
    case unsupportedResponseType = "unsupported_response_type"
    case serverError = "server_error"
    case temporarilyUnavailable = "temporarily_unavailable"
    /// OpenID Connect Core section 3.1.2.6.
    case loginRequired = "login_required"
    case requestNotSupported = "request_not_supported"
    case requestURINotSupported = "request_uri_not_supported"
    case registrationNotSupported = "registration_not_supported"
    case invalidRequestURI = "invalid_request_uri"
    /// OpenID Connect Core Error Code unmet_authentication_requirements 1.0.
    case unmetAuthenticationRequirements = "unmet_authentication_requirements"
    /// RFC 9449 sections 5 and 8.
    case invalidDPoPProof = "invalid_dpop_proof"
    case useDPoPNonce = "use_dpop_nonce"
  }

  /// The code.
  let code: Code
  /// A sentence for the developer.
  let description: String
  /// Further fields of the answer.
  var headers: [(String, String)] = []

  /// An error of `code`.
  init(_ code: Code, _ description: String, headers: [(String, String)] = []) {
    self.code = code
    self.description = description
    self.headers = headers
  }

  /// A store has reached its bound.
  static let full = OAuthError(.temporarilyUnavailable, "too much is stored already; try again later")

  /// The answer: 401 with a challenge for `invalid_client`, 503 for what may be better later, otherwise 400; never
  /// stored.
  var reply: Reply {
    var reply = Reply(
      status: status,
      json: ["error": .string(code.rawValue), "error_description": .string(description)],
      headers: OAuthError.noStore + headers
    )
    if code == .invalidClient {
      reply.headers.add(name: "www-authenticate", value: #"Basic realm="playground", charset="UTF-8""#)
    }
    return reply
  }

  private var status: Int {
    switch code {
    case .invalidClient: 401
    case .temporarilyUnavailable: 503
    default: 400
    }
  }

  /// The header fields of every answer with or about tokens (RFC 6749 section 5.1).
  static let noStore = [("cache-control", "no-store"), ("pragma", "no-cache")]
}
