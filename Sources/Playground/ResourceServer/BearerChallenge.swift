import JSON
import NIOHTTP1

/// The errors a resource server answers bearer tokens with (RFC 6750 section 3).
struct BearerChallenge: Error {
  /// The error codes of section 3.1.
  enum Code: String, Sendable {
    case invalidRequest = "invalid_request"
    case invalidToken = "invalid_token"
    case insufficientScope = "insufficient_scope"
  }

  /// The code; nil when the request brought no token at all: then nothing more is said.
  let code: Code?
  /// A sentence for the developer.
  var description = ""
  /// The scope that is needed.
  var scope: String?

  /// The answer with its `WWW-Authenticate` field.
  var reply: Reply {
    var challenge = #"Bearer realm="playground""#
    if let code { challenge += ", error=\"\(code.rawValue)\", error_description=\"\(description)\"" }
    if let scope { challenge += ", scope=\"\(scope)\"" }
    return Reply(
      status: status,
      json: ["error": .string(code?.rawValue ?? "unauthorized")],
      headers: [("www-authenticate", challenge), ("cache-control", "no-store")]
    )
  }

  private var status: Int {
    switch code {
    case nil, .invalidToken?: 401
    case .invalidRequest?: 400
    case .insufficientScope?: 403
    }
  }
}
