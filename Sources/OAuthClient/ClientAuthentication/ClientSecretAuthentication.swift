import HTTPMessages
public import PosternSupport

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
    request.form.append((name: "client_id", value: clientID))
    request.form.append((name: "client_secret", value: secret.reveal()))
  }
}

/// `none`: a public client, which only says its identifier (RFC 6749 section 3.2.1).
public struct PublicClient: ClientAuthentication {
  /// A client without a secret.
  public init() {}

  /// `none`.
  public var method: String { "none" }

  /// Adds `client_id`.
  public func authenticate(_ request: inout TokenEndpointRequest, as clientID: String) throws(TokenError) {
    request.form.append((name: "client_id", value: clientID))
  }
}
