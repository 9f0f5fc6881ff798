public import HTTPMessages
public import PosternSupport

/// A method by which a client authenticates at an authorization server's endpoints (RFC 6749 section 2.3, OpenID
/// Connect Core section 9).
///
/// Two methods are equal when they use the same secret, so that a changed secret gets tokens of its own.
public protocol ClientAuthentication: Hashable, Sendable {
  /// The method's registered name: `client_secret_basic`.
  var method: String { get }

  /// Adds the client's authentication to `request`, just before it is sent: a field, form members, or transfer options.
  func authenticate(_ request: inout TokenEndpointRequest, as clientID: String) throws(TokenError)

  /// The certificate that requests with this authentication present; nil for the issuer's, where it has one.
  var clientIdentity: ClientIdentity? { get }

  /// The algorithm that the issuer must list in its metadata, where it lists any; nil where none is required.
  var requiredAlgorithm: String? { get }

  /// Whether the credential is read for each request, so that after a rejection there may be another one.
  var isReadForEachRequest: Bool { get }

  /// The reason why the credential cannot be used now; nil when it can.
  var fault: ClientAssertionFault? { get }

  /// Whether requests to other endpoints have to know the token endpoint.
  var needsTokenEndpoint: Bool { get }
}

extension ClientAuthentication {
  /// Nil: the issuer's certificate, where it has one.
  public var clientIdentity: ClientIdentity? { nil }
  /// Nil: no algorithm is required.
  public var requiredAlgorithm: String? { nil }
  /// False: the credential is that of the configuration.
  public var isReadForEachRequest: Bool { false }
  /// Nil: the credential can be used.
  public var fault: ClientAssertionFault? { nil }

  /// False: the endpoint of the request is all that is needed.
  public var needsTokenEndpoint: Bool { false }

  func isEqual(to other: any ClientAuthentication) -> Bool { other as? Self == self }
}

/// A request to a token endpoint, or to one that authenticates clients the same way, before it is made into HTTP.
public struct TokenEndpointRequest: Sendable {
  /// The endpoint it goes to: the audience of a client assertion.
  public let endpoint: HTTPURL
  /// The issuer's identifier.
  public let issuer: String
  /// The issuer's token endpoint, where it is another one and is known.
  public var tokenEndpoint: HTTPURL?
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

  /// Adds `client_id`, once.
  mutating func identify(as clientID: String) {
    form.removeAll { $0.name == "client_id" }
    form.append((name: "client_id", value: clientID))
  }

  /// The form as an HTTP request.
  package var httpRequest: HTTPRequest {
    var fields = fields
    fields["Content-Type"] = FormEncoding.mediaType
    return HTTPRequest(method: "POST", url: endpoint, fields: fields, body: FormEncoding.encode(form))
  }
}

/// `client_secret_basic` (RFC 6749 section 2.3.1): identifier and secret, each form-encoded first, as HTTP Basic
/// credentials.
public struct ClientSecretBasic: ClientAuthentication {
  private let secret: Secret<String>

  /// Authentication by `secret`.
  public init(secret: Secret<String>) { self.secret = secret }

  /// `client_secret_basic`.
  public var method: String { "client_secret_basic" }

  /// Sets `Authorization`.
  public func authenticate(_ request: inout TokenEndpointRequest, as clientID: String) throws(TokenError) {
    let credentials = "\(FormEncoding.encode(clientID)):\(FormEncoding.encode(secret.reveal()))"
    request.fields["Authorization"] = "Basic \(Base64.string(Array(credentials.utf8)))"
  }
}

/// `client_secret_post` (RFC 6749 section 2.3.1): identifier and secret as members of the form.
public struct ClientSecretPost: ClientAuthentication {
  private let secret: Secret<String>

  /// Authentication by `secret`.
  public init(secret: Secret<String>) { self.secret = secret }

  /// `client_secret_post`.
  public var method: String { "client_secret_post" }

  /// Adds `client_id` and `client_secret`.
  public func authenticate(_ request: inout TokenEndpointRequest, as clientID: String) throws(TokenError) {
    request.identify(as: clientID)
    request.form.append((name: "client_secret", value: secret.reveal()))
  }
}

/// `none`: a public client, which only sends its identifier (RFC 6749 section 3.2.1).
public struct PublicClient: ClientAuthentication {
  /// A client without a secret.
  public init() {}

  /// `none`.
  public var method: String { "none" }

  /// Adds `client_id`.
  public func authenticate(_ request: inout TokenEndpointRequest, as clientID: String) throws(TokenError) {
    request.identify(as: clientID)
  }
}

/// `tls_client_auth` and `self_signed_tls_client_auth` (RFC 8705 sections 2.1 and 2.2): the certificate of the
/// connection, and the identifier in the form.
///
/// Both are the same on the wire: the issuer compares the certificate with a registered name, or with a registered key.
public struct TLSClientAuthentication: ClientAuthentication {
  private let isSelfSigned: Bool
  /// The certificate to present; nil for the issuer's `clientIdentity`.
  public let clientIdentity: ClientIdentity?

  /// Authentication by the certificate `identity`, without one by that of the issuer; `isSelfSigned`: registered with
  /// the issuer as a key.
  public init(isSelfSigned: Bool = false, identity: ClientIdentity? = nil) {
    self.isSelfSigned = isSelfSigned
    clientIdentity = identity
  }

  /// `tls_client_auth`, or `self_signed_tls_client_auth`.
  public var method: String { isSelfSigned ? "self_signed_tls_client_auth" : "tls_client_auth" }

  /// Adds `client_id`; throws where the request would be sent without the certificate.
  public func authenticate(_ request: inout TokenEndpointRequest, as clientID: String) throws(TokenError) {
    guard request.options.access.tls.clientIdentity != nil else {
      throw TokenError(.notPossible, "\(method) needs a client certificate, and the issuer has none")
    }
    guard request.endpoint.origin.scheme == "https" else {
      throw TokenError(.notPossible, "\(method) needs TLS, and the endpoint's scheme is http")
    }
    request.identify(as: clientID)
  }
}

extension TokenEndpointRequest: ConciseStringConvertible {
  /// Endpoint and names of parameters: values are secret.
  public var description: String {
    Concise.text("POST \(endpoint.shown)", Concise.list(form.map(\.name), of: "parameter"))
  }
}

extension ClientSecretBasic: ConciseStringConvertible {
  /// The method: never the secret.
  public var description: String { method }
}

extension ClientSecretPost: ConciseStringConvertible {
  /// The method: never the secret.
  public var description: String { method }
}

extension PublicClient: ConciseStringConvertible {
  /// The method.
  public var description: String { method }
}

extension TLSClientAuthentication: ConciseStringConvertible {
  /// The method.
  public var description: String { method }
}
