public import HTTPMessages
public import PosternSupport

/// A configured authorization server and this sidecar's registration there.
///
/// A value: any change of the configuration makes another issuer, with caches of its own.
public struct Issuer: Sendable {
  /// The name in the configuration; appears in events and error messages.
  public let name: String
  /// The issuer identifier exactly as configured: compared code point by code point (RFC 8414 section 3.3).
  public let identifier: String
  /// The identifier as a URL. One for all tenants of Entra, with `{tenantid}`, is that of `organizations`.
  public let url: HTTPURL
  /// The client identifier.
  public let clientID: String
  /// The client authentication, and what to use when the issuer rejects it.
  package let credentials: ClientCredentials
  /// Endpoints of the configuration: they take precedence over the server's metadata, which is not fetched for them.
  public let endpoints: [ProviderEndpoint: HTTPURL]
  /// How its servers are reached. The client certificate authenticates the client or binds its tokens (RFC 8705).
  public var access: ServerAccess
  /// How its token endpoint's answers deviate. Default: not at all.
  package var answerRules = TokenAnswerRules()
  /// Whether tokens are requested with a DPoP proof, to be bound to a key (RFC 9449).
  public let usesDPoP: Bool

  /// An issuer; `fallbackAuthentications` are used in their order when the server rejects the client. Throws when
  /// `identifier` is no URL, or has a query or a fragment (RFC 8414 section 2).
  public init(
    name: String,
    identifier: String,
    clientID: String,
    clientAuthentication: any ClientAuthentication,
    fallbackAuthentications: [any ClientAuthentication] = [],
    endpoints: [ProviderEndpoint: HTTPURL] = [:],
    access: ServerAccess = ServerAccess(),
    usesDPoP: Bool = false
  ) throws(HTTPURLError) {
    // The metadata of all tenants of Entra has a place for the tenant in its issuer, and is where `organizations` is.
    url = try HTTPURL(String(identifier.replacing("{tenantid}", with: "organizations")))
    guard !identifier.utf8.contains(UInt8(ascii: "?")), !identifier.utf8.contains(UInt8(ascii: "#")) else {
      throw HTTPURLError(.forbiddenCharacter)
    }
    self.name = name
    self.identifier = identifier
    self.clientID = clientID
    credentials = ClientCredentials(clientAuthentication, fallbacks: fallbackAuthentications)
    self.endpoints = endpoints
    self.access = access
    self.usesDPoP = usesDPoP
  }

  /// The client authentication that is configured first.
  public var clientAuthentication: any ClientAuthentication { credentials.all[0] }

  /// Whether requests may be sent to `url`: `https`, or a server that may be reached without TLS.
  package func accepts(_ url: HTTPURL) -> Bool { access.plainHTTP.permits(url) }
}

extension Issuer: Hashable {
  /// Whether the configuration is the same in every part.
  public static func == (left: Issuer, right: Issuer) -> Bool {
    left.name == right.name && left.identifier == right.identifier && left.clientID == right.clientID
      && left.credentials.isEqual(to: right.credentials) && left.endpoints == right.endpoints
      && left.access == right.access && left.answerRules == right.answerRules && left.usesDPoP == right.usesDPoP
  }

  /// Hashes identifier, client and client authentication; the rest hardly ever differs when these do not.
  public func hash(into hasher: inout Hasher) {
    hasher.combine(identifier)
    hasher.combine(clientID)
    clientAuthentication.hash(into: &hasher)
  }
}

extension Issuer {
  /// Returns the options of a request to one of the issuer's servers: on a connection of its own, so that the answer
  /// cannot be that of another request. Tokens, key sets and metadata concern all users, and are requested seldom
  /// enough to pay for that. It counts towards the connections of `peer`.
  package func transferOptions(
    deadline: Deadline, connectTimeout: Duration = .seconds(10), maxBodyBytes: Int, for peer: PeerID
  ) -> TransferOptions {
    TransferOptions(
      to: access, deadline: deadline, connectTimeout: connectTimeout, maxBodyBytes: maxBodyBytes,
      allowsLinkLocal: isAtLinkLocalAddress, peerID: peer, reusesConnections: false)
  }

  /// Whether the configuration puts the issuer at a link-local address; its metadata and names cannot.
  private var isAtLinkLocalAddress: Bool {
    url.origin.isLinkLocalAddress || endpoints.values.contains(where: \.origin.isLinkLocalAddress)
  }
}

extension Issuer: ConciseStringConvertible {
  /// Name, URL and client: never the client's secret.
  public var description: String {
    Concise.text(
      "issuer \(Concise.name(name)) at \(url.shown)", "client \(Concise.name(clientID))",
      clientAuthentication.method)
  }
}
