import EngineTestSupport
import HTTPMessages
import JOSE
import PosternJSON
import Testing

/// The proof in a request, read with the key it names.
struct Proof {
  let header: JSONObject
  let claims: JSONObject
  let thumbprint: String

  /// The one proof of `request`; fails unless its signature is one of its own key.
  init(_ request: HTTPRequest) throws {
    let fields = request.fields.values(of: "DPoP")
    #expect(fields.count == 1)
    try self.init(text: #require(fields.first))
  }

  init(text: String) throws {
    let token = try CompactJWS(text)
    header = token.header.parameters
    let key = try token.header.untrustedProofKey()
    _ = try token.verifiedPayload(with: key, algorithm: token.algorithm(allowed: [.es256]))
    claims = try token.unverifiedClaims()
    thumbprint = try #require(key.thumbprint)
  }

  subscript(name: String) -> String? { claims[name]?.stringValue }
}

extension HTTPResponse {
  /// A token of type DPoP, perhaps with a refresh token.
  static func boundToken(_ value: String, refresh: String? = nil, type: String = "DPoP") -> HTTPResponse {
    let refresh = refresh.map { #","refresh_token":"\#($0)""# } ?? ""
    return json(#"{"access_token":"\#(value)","token_type":"\#(type)","expires_in":300\#(refresh)}"#)
  }

  /// The same answer with further fields.
  func with(_ fields: (String, String)...) -> HTTPResponse {
    var response = self
    for (name, value) in fields { response.fields.append(name, value) }
    return response
  }

  /// The answer of a resource server that requires a nonce (RFC 9449 section 9).
  static func wantsNonce(_ nonce: String?) -> HTTPResponse {
    let answer = status(401, ("WWW-Authenticate", #"DPoP error="use_dpop_nonce", algs="ES256""#))
    return nonce.map { answer.with(("DPoP-Nonce", $0)) } ?? answer
  }

  /// The answer of a token endpoint that requires a nonce (RFC 9449 section 8).
  static func tokenWantsNonce(_ nonce: String?, status: Int = 400) -> HTTPResponse {
    let answer = json(#"{"error":"use_dpop_nonce"}"#, status: status)
    return nonce.map { answer.with(("DPoP-Nonce", $0)) } ?? answer
  }
}
