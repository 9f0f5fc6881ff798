package import HTTPMessages
package import OAuthClient
package import PosternJSON
import PosternSupport
package import SessionRecords

/// A request that an API has received, as far as it decides whether the request may pass.
package struct IncomingRequest: Sendable {
  /// The method, as the client sent it: methods are case-sensitive.
  package var method: String
  /// The absolute URL as the client used it, query included, in which any characters may be. Behind a front it is the
  /// front's URL, not the API's own.
  package var url: String
  /// The fields of the request; of all of them, `Authorization` and `DPoP` decide.
  package var fields: HTTPFields
  /// The certificate of the client's TLS connection in PEM; nil: there was none.
  package var clientCertificate: String?

  package init(method: String, url: String, fields: HTTPFields, clientCertificate: String? = nil) {
    self.method = method
    self.url = url
    self.fields = fields
    self.clientCertificate = clientCertificate
  }

  /// The query of the URL, as the client sent it.
  var query: String? {
    let whole = url.prefix(beforeBytes: "#")
    let target = whole.prefix(beforeBytes: "?")
    return target.utf8.count == whole.utf8.count ? nil : String(Substring(whole.utf8.dropFirst(target.utf8.count + 1)))
  }
}

/// The requirements of an API on a request.
package struct RequestRequirements: Sendable, Equatable {
  /// Whether proofs of possession (RFC 9449) are accepted.
  package enum ProofRule: String, Sendable, Hashable, CaseIterable {
    /// A token that is bound to a key needs its proof; any other is a bearer token.
    case optional
    /// Every request needs a proof.
    case required
    /// A proof is an error, and DPoP is not offered.
    case forbidden
  }

  /// The audience that the token must be for. Nil: the origin of the request's URL, exactly or with a path.
  package var audience: String?
  /// The scopes that must all be granted.
  package var requiredScopes: [String]
  /// Whether the request may, must or must not have a proof.
  package var dpop: ProofRule
  /// The time since the user authenticated, at most (RFC 9470).
  package var maxAge: Duration?
  /// The accepted authentication contexts, the preferred one first (RFC 9470); empty: any.
  package var acrValues: [String]
  /// The URL of the API's metadata (RFC 9728), for challenges.
  package var resourceMetadata: String?

  package init(
    audience: String? = nil, requiredScopes: [String] = [], dpop: ProofRule = .optional, maxAge: Duration? = nil,
    acrValues: [String] = [], resourceMetadata: String? = nil
  ) {
    self.audience = audience
    self.requiredScopes = requiredScopes
    self.dpop = dpop
    self.maxAge = maxAge
    self.acrValues = acrValues
    self.resourceMetadata = resourceMetadata
  }
}

/// Whether a request may pass.
package enum RequestVerdict: Sendable {
  /// It may.
  case accepted(AcceptedRequest)
  /// It must not, and gets the rejection's response.
  case rejected(RequestRejection)
}

/// A request that may pass, and the token that it shows.
package struct AcceptedRequest: Sendable {
  /// The claims of the JWT, or the members of the issuer's answer.
  package var claims: JSONObject
  /// How the token was shown.
  package var tokenType: TokenType
  /// The thumbprint of the key whose possession was proven (RFC 9449); nil: no proof.
  package var jkt: String?
  /// The thumbprint of the certificate that the token is bound to (RFC 8705); nil: it is not bound to one.
  package var x5tS256: String?
  /// Whether signature or activity of the token were found out in an earlier call.
  package var isCached: Bool

  package init(
    claims: JSONObject, tokenType: TokenType, jkt: String? = nil, x5tS256: String? = nil, isCached: Bool = false
  ) {
    self.claims = claims
    self.tokenType = tokenType
    self.jkt = jkt
    self.x5tS256 = x5tS256
    self.isCached = isCached
  }
}

/// Why a request must not pass, and what the API answers.
package struct RequestRejection: Error, Sendable {
  /// The violated rule.
  package var fault: TokenFault
  /// The part that is wrong, as `htm` of a proof; nil where the code is enough.
  package var detail: String?
  /// The API's answer (RFC 6750, 9449, 9470, 9728).
  package var response: ReadyResponse

  package init(fault: TokenFault, detail: String? = nil, response: ReadyResponse) {
    self.fault = fault
    self.detail = detail
    self.response = response
  }

  package init(code: TokenFault.Code, message: String, detail: String? = nil, response: ReadyResponse) {
    self.init(fault: TokenFault(code, message), detail: detail, response: response)
  }

  /// The name of the rule, stable: callers decide by it.
  package var code: TokenFault.Code { fault.code }
  /// For people and logs.
  package var message: String { fault.message }
}

/// A response without a body.
package struct ReadyResponse: Sendable, Equatable {
  /// 400, 401 or 403.
  package var status: Int
  /// `WWW-Authenticate` in one line, `Cache-Control`, and `DPoP-Nonce` where the client needs one.
  package var fields: HTTPFields

  package init(status: Int, fields: HTTPFields) {
    self.status = status
    self.fields = fields
  }
}

/// Why there is no verdict on a request. Never the client's fault: the API answers 503, without a challenge.
package enum RequestValidationError: Error, Sendable {
  /// The request or the requirements are none: the caller of the validation has made a mistake in that member.
  case malformed(_ member: String, _ problem: String)
  /// There are no keys to judge the token with.
  case undecided(KeySetError)
  /// The issuer could not report whether the token is active.
  case notIntrospected(IntrospectionError)
  /// Whether the proof was seen before cannot be recorded.
  case notRecorded(StoreError)
}
