public import HTTPMessages
package import PosternSupport

/// A configured authorization server and this sidecar's registration there.
///
/// A value: whatever changes in the configuration makes another issuer, with caches of its own.
public struct Issuer: Sendable {
  /// The name it has in the configuration; appears in events and error texts.
  public let name: String
  /// The issuer identifier exactly as configured: compared code point by code point (RFC 8414 section 3.3).
  public let identifier: String
  /// The identifier as a URL.
  public let url: HTTPURL
  /// The client identifier.
  public let clientID: String
  /// How the client proves who it is.
  public let clientAuthentication: any ClientAuthentication
  /// Endpoints given by the configuration: they go before the server's metadata, which is not even asked then.
  public let endpoints: [ProviderEndpoint: HTTPURL]
  /// PEM file with the certificate authorities to trust instead of the system's.
  public let caFile: String?
  /// Who to be in TLS: the certificate that authenticates the client or binds its tokens (RFC 8705); nil is nobody.
  public var clientIdentity: ClientIdentity?
  /// What the issuer's servers must have in their verified chains; nil pins nothing.
  public let pins: KeyPins?
  /// Whether `http` is accepted on loopback addresses; never elsewhere.
  public let allowsPlainHTTPOnLoopback: Bool
  /// Whether its tokens are asked for with a proof of possession, to be bound to a key (RFC 9449).
  public let usesDPoP: Bool

  /// An issuer; throws when `identifier` is no URL, or has a query or a fragment (RFC 8414 section 2).
  public init(
    name: String,
    identifier: String,
    clientID: String,
    clientAuthentication: any ClientAuthentication,
    endpoints: [ProviderEndpoint: HTTPURL] = [:],
    caFile: String? = nil,
    clientIdentity: ClientIdentity? = nil,
    pins: KeyPins? = nil,
    allowsPlainHTTPOnLoopback: Bool = false,
    usesDPoP: Bool = false
  ) throws(HTTPURLError) {
    url = try HTTPURL(identifier)
    guard !identifier.utf8.contains(UInt8(ascii: "?")), !identifier.utf8.contains(UInt8(ascii: "#")) else {
      throw HTTPURLError(.forbiddenCharacter)
    }
    self.name = name
    self.identifier = identifier
    self.clientID = clientID
    self.clientAuthentication = clientAuthentication
    self.endpoints = endpoints
    self.caFile = caFile
    self.clientIdentity = clientIdentity
    self.pins = pins
    self.allowsPlainHTTPOnLoopback = allowsPlainHTTPOnLoopback
    self.usesDPoP = usesDPoP
  }

  /// Whether `url` may be talked to: `https`, or `http` on a loopback address where the configuration says so.
  package func accepts(_ url: HTTPURL) -> Bool {
    url.isSecure(allowingPlainHTTPOnLoopback: allowsPlainHTTPOnLoopback)
  }
}

extension Issuer: Hashable {
  /// Same configuration in every part.
  public static func == (left: Issuer, right: Issuer) -> Bool {
    left.name == right.name && left.identifier == right.identifier && left.clientID == right.clientID
      && left.clientAuthentication.isEqual(to: right.clientAuthentication) && left.endpoints == right.endpoints
      && left.caFile == right.caFile && left.clientIdentity == right.clientIdentity && left.pins == right.pins
      && left.allowsPlainHTTPOnLoopback == right.allowsPlainHTTPOnLoopback
      && left.usesDPoP == right.usesDPoP
  }

  /// Feeds identifier, client and client authentication; the rest hardly ever differs when these do not.
  public func hash(into hasher: inout Hasher) {
    hasher.combine(identifier)
    hasher.combine(clientID)
    clientAuthentication.hash(into: &hasher)
  }
}

extension Issuer {
  /// How an exchange with one of the issuer's servers is carried out: on a connection of its own, so that its answer
  /// can be no other exchange's. Tokens, key sets and metadata decide for everybody, and are requested seldom enough to
  /// pay for that. One that is made `forCaller` counts towards the connections of the user in whose name the code runs;
  /// the others are everybody's.
  package func transferOptions(
    deadline: Deadline, connectTimeout: Duration = .seconds(10), maxBodyBytes: Int, forCaller: Bool
  ) -> TransferOptions {
    TransferOptions(
      deadline: deadline, connectTimeout: connectTimeout, maxBodyBytes: maxBodyBytes,
      allowsPlainHTTP: allowsPlainHTTPOnLoopback, caFile: caFile, clientIdentity: clientIdentity, pins: pins,
      allowsLinkLocal: isAtLinkLocalAddress,
      requester: forCaller ? Requesting.uid.map { Requester(uid: $0, connection: 0) } ?? .process : .process,
      reusesConnections: false)
  }

  /// Whether the configuration puts the issuer at a link-local address; its metadata and names cannot.
  private var isAtLinkLocalAddress: Bool {
    url.origin.isLinkLocalAddress || endpoints.values.contains(where: \.origin.isLinkLocalAddress)
  }
}

extension HTTPURL {
  /// Whether the scheme is `https`, or `http` on a loopback address and `allowed`.
  package func isSecure(allowingPlainHTTPOnLoopback allowed: Bool) -> Bool {
    origin.scheme == "https" || (allowed && origin.isLoopbackAddress)
  }
}
