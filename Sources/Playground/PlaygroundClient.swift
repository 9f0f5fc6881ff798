/// A client registered at the playground's provider.
public struct PlaygroundClient: Sendable, Hashable {
  /// How a client may authenticate at the token endpoint (RFC 6749 section 2.3.1).
  public enum Authentication: String, Sendable, Hashable, CaseIterable {
    /// HTTP Basic of the form-encoded id and secret.
    case basic = "client_secret_basic"
    /// `client_id` and `client_secret` in the form.
    case post = "client_secret_post"
  }

  /// The client's identifier.
  public var id: String
  /// Its secret: of a development double, therefore no secret at all.
  public var secret: String
  /// What it may ask for, and gets when it asks for nothing in particular.
  public var scopes: [String]
  /// How it may authenticate.
  public var authentication: Set<Authentication>

  /// A client; by default it may use both ways of authentication.
  public init(
    id: String,
    secret: String,
    scopes: [String] = ["orders", "orders:write", "profile"],
    authentication: Set<Authentication> = Set(Authentication.allCases)
  ) {
    self.id = id
    self.secret = secret
    self.scopes = scopes
    self.authentication = authentication
  }

  /// An ordinary client, and one whose id and secret come out wrong unless they are form-encoded in HTTP Basic.
  public static let defaults = [
    PlaygroundClient(id: "svc", secret: "svcsecret"),
    PlaygroundClient(id: "odd:client+1", secret: "p@ss word/%&+é"),
  ]
}
