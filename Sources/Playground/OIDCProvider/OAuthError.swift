import JSON
import NIOHTTP1

/// An error answer of an OAuth endpoint (RFC 6749 section 5.2).
struct OAuthError: Error {
  /// The error codes in use.
  enum Code: String, Sendable {
    case invalidRequest = "invalid_request"
    case invalidClient = "invalid_client"
    case invalidScope = "invalid_scope"
    /// RFC 8707 section 2.
    case invalidTarget = "invalid_target"
    case unauthorizedClient = "unauthorized_client"
    case unsupportedGrantType = "unsupported_grant_type"
  }

  /// The code.
  let code: Code
  /// A sentence for the developer.
  let description: String

  /// An error of `code`.
  init(_ code: Code, _ description: String) {
    self.code = code
    self.description = description
  }

  /// The answer: 401 with a challenge for `invalid_client`, otherwise 400; never stored.
  var reply: Reply {
    var reply = Reply(
      status: code == .invalidClient ? 401 : 400,
      json: ["error": .string(code.rawValue), "error_description": .string(description)],
      headers: OAuthError.noStore
    )
    if code == .invalidClient {
      reply.headers.add(name: "www-authenticate", value: #"Basic realm="playground", charset="UTF-8""#)
    }
    return reply
  }

  /// What every answer with or about tokens carries (RFC 6749 section 5.1).
  static let noStore = [("cache-control", "no-store"), ("pragma", "no-cache")]
}
