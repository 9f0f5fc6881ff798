import JOSE
import NIOHTTP1
import PosternJSON

/// The errors a resource server answers tokens with (RFC 6750 section 3, RFC 9449 section 7.1).
struct BearerChallenge: Error {
  /// The schemes a token can come with.
  enum Scheme: String, Sendable {
    case bearer
    case dpop
  }

  /// The error codes of RFC 6750 section 3.1 and RFC 9449.
  enum Code: String, Sendable {
    case invalidRequest = "invalid_request"
    case invalidToken = "invalid_token"
    case insufficientScope = "insufficient_scope"
    case invalidDPoPProof = "invalid_dpop_proof"
    case useDPoPNonce = "use_dpop_nonce"
    /// RFC 9470 section 3.
    case insufficientUserAuthentication = "insufficient_user_authentication"
  }

  /// The code; nil when the request had no token: then the challenge has no more parameters.
  let code: Code?
  /// The scheme that was used.
  var scheme = Scheme.bearer
  /// A sentence for the developer.
  var description = ""
  /// The scope that is needed.
  var scope: String?
  /// The nonce to use.
  var nonce: String?
  /// The `acr` values of which one is needed; empty when it does not matter.
  var acrValues: [String] = []
  /// How many seconds ago the user may have logged in.
  var maxAge: Int?
  /// Whether a second challenge names the scheme that would have been right (RFC 9449 section 7.2).
  var offersDPoP = false

  /// The answer with its `WWW-Authenticate` fields.
  var reply: Reply {
    var challenge = (scheme == .dpop ? "DPoP" : "Bearer") + #" realm="playground""#
    if let code { challenge += ", error=\"\(code.rawValue)\", error_description=\"\(description)\"" }
    if let scope { challenge += ", scope=\"\(scope)\"" }
    if !acrValues.isEmpty {
      challenge += ", acr_values=\"\(acrValues.joined(separator: " ").filter(Self.isQuotable))\""
    }
    if let maxAge { challenge += ", max_age=\"\(maxAge)\"" }
    let algorithms = "algs=\"\(DPoPCheck.algorithms.map(\.name).joined(separator: " "))\""
    if scheme == .dpop { challenge += ", " + algorithms }
    var reply = Reply(
      status: status,
      json: ["error": .string(code?.rawValue ?? "unauthorized")],
      headers: [("www-authenticate", challenge), ("cache-control", "no-store")]
    )
    if offersDPoP { reply.headers.add(name: "www-authenticate", value: "DPoP " + algorithms) }
    if let nonce { reply.headers.add(name: "dpop-nonce", value: nonce) }
    return reply
  }

  /// Keeps the characters of a quoted string (RFC 9110 section 5.6.4): the values come from the query.
  private static func isQuotable(_ character: Character) -> Bool {
    character.asciiValue.map { $0 >= 0x20 && $0 < 0x7f } ?? false && character != "\"" && character != "\\"
  }

  private var status: Int {
    switch code {
    case nil, .invalidToken?, .invalidDPoPProof?, .useDPoPNonce?, .insufficientUserAuthentication?: 401
    case .invalidRequest?: 400
    case .insufficientScope?: 403
    }
  }
}
