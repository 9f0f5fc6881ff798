public import HTTPMessages

/// How a client proves who it is at an authorization server's endpoints (RFC 6749 section 2.3, OpenID Connect Core
/// section 9).
///
/// Equality tells whether two proofs are made of the same secret, so that a changed secret gets tokens of its own.
public protocol ClientAuthentication: Hashable, Sendable {
  /// The method's registered name: `client_secret_basic`.
  var method: String { get }

  /// Adds the proof to `request`, just before it is sent: a field, form members, or transfer options.
  func authenticate(_ request: inout TokenEndpointRequest, as clientID: String) throws(TokenError)
}

extension ClientAuthentication {
  func isEqual(to other: any ClientAuthentication) -> Bool { other as? Self == self }
}

/// A request to a token endpoint, or to one that authenticates clients the same way, before it is made into HTTP.
public struct TokenEndpointRequest: Sendable {
  /// The endpoint it goes to: the audience of a client assertion.
  public let endpoint: HTTPURL
  /// The issuer's identifier.
  public let issuer: String
  /// The header fields.
  public var fields: HTTPFields
  /// The form's members in order.
  public var form: [(name: String, value: String)]
  /// Bounds and trust of the exchange.
  public var options: TransferOptions

  package init(
    endpoint: HTTPURL, issuer: String, fields: HTTPFields, form: [(name: String, value: String)],
    options: TransferOptions
  ) {
    self.endpoint = endpoint
    self.issuer = issuer
    self.fields = fields
    self.form = form
    self.options = options
  }

  /// The form as an HTTP request.
  package var httpRequest: HTTPRequest {
    var fields = fields
    fields["Content-Type"] = FormEncoding.mediaType
    return HTTPRequest(method: "POST", url: endpoint, fields: fields, body: FormEncoding.encode(form))
  }
}
