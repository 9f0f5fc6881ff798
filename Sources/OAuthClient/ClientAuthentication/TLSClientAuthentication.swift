import HTTPMessages

/// `tls_client_auth` (RFC 8705 section 2.1): the certificate of the connection, which is the issuer's `clientIdentity`,
/// and the identifier in the form.
public struct TLSClientAuthentication: ClientAuthentication {
  /// Authentication by the certificate that the issuer's exchanges present.
  public init() {}

  /// `tls_client_auth`.
  public var method: String { "tls_client_auth" }

  /// Adds `client_id`; refuses what would go out without the certificate.
  public func authenticate(_ request: inout TokenEndpointRequest, as clientID: String) throws(TokenError) {
    guard request.options.clientIdentity != nil else {
      throw TokenError(.notPossible, "tls_client_auth needs a client certificate, and the issuer has none")
    }
    guard request.endpoint.origin.scheme == "https" else {
      throw TokenError(.notPossible, "tls_client_auth needs TLS, and the endpoint's scheme is http")
    }
    request.form.append((name: "client_id", value: clientID))
  }
}
