public import HTTPMessages
import PosternJSON
public import PosternSupport

/// An authorization server's metadata (RFC 8414 section 2, OpenID Connect Discovery section 3).
public struct ProviderMetadata: Sendable {
  /// The issuer identifier; equal to the configured one.
  public let issuer: String
  /// The endpoints with acceptable URLs; any other member counts as absent.
  public let endpoints: [ProviderEndpoint: HTTPURL]
  /// `mtls_endpoint_aliases`: the endpoints for clients with mutual TLS (RFC 8705 section 5).
  let mutualTLSEndpoints: [ProviderEndpoint: HTTPURL]
  /// `grant_types_supported`; nil when absent. Servers leave out grants that work, so it never decides anything by
  /// itself.
  public let grantTypesSupported: [String]?
  /// `token_endpoint_auth_methods_supported`; nil when absent.
  public let tokenEndpointAuthMethodsSupported: [String]?
  /// `token_endpoint_auth_signing_alg_values_supported`; nil when absent.
  public let tokenEndpointAuthSigningAlgorithmsSupported: [String]?
  /// `scopes_supported`; nil when absent.
  public let scopesSupported: [String]?
  /// `code_challenge_methods_supported` (RFC 7636); nil when absent.
  public let codeChallengeMethodsSupported: [String]?
  /// `id_token_signing_alg_values_supported`; nil when absent.
  public let idTokenSigningAlgorithmsSupported: [String]?
  /// `authorization_response_iss_parameter_supported` (RFC 9207); false when absent.
  public let sendsIssuerInAuthorizationResponse: Bool

  /// Returns the URL of `endpoint` for the client; there are no aliases of the endpoints for browsers and key sets.
  func url(of endpoint: ProviderEndpoint, usingMutualTLS: Bool) -> HTTPURL? {
    switch endpoint {
    case .token, .introspection, .revocation, .deviceAuthorization, .userInfo, .pushedAuthorizationRequest:
      (usingMutualTLS ? mutualTLSEndpoints[endpoint] : nil) ?? endpoints[endpoint]
    case .authorization, .jwks, .endSession: endpoints[endpoint]
    }
  }

  private static func endpoints(in object: JSONObject, of issuer: Issuer) -> [ProviderEndpoint: HTTPURL] {
    var endpoints: [ProviderEndpoint: HTTPURL] = [:]
    for endpoint in ProviderEndpoint.allCases {
      guard let text = object[endpoint.rawValue]?.stringValue, let url = try? HTTPURL(text), issuer.accepts(url) else {
        continue
      }
      endpoints[endpoint] = url
    }
    return endpoints
  }

  /// Both identifiers, and what to do when only the slash at the end differs.
  private static func mismatch(_ found: String, configured: String) -> String {
    let printable = found.unicodeScalars.prefix(256).map { (0x21..<0x7F).contains($0.value) ? $0 : "?" }
    let isSlash = found == configured + "/" || found + "/" == configured
    return "the metadata names issuer \(String(String.UnicodeScalarView(printable))), the configuration \(configured)"
      + (isSlash ? ": they differ in the slash at the end" : "")
  }

  /// Reads a metadata document fetched for `issuer`; throws when it is no object, names no issuer, or another one.
  init(_ document: JSONValue, for issuer: Issuer) throws(DiscoveryError) {
    guard let object = document.objectValue else { throw DiscoveryError(.failed, "the metadata is no JSON object") }
    guard let identifier = object["issuer"]?.stringValue else {
      throw DiscoveryError(.issuerMismatch, "the metadata names no issuer")
    }
    // Byte by byte: Swift's own comparison would let canonically equivalent code points pass.
    guard identifier.utf8.elementsEqual(issuer.identifier.utf8) else {
      throw DiscoveryError(.issuerMismatch, Self.mismatch(identifier, configured: issuer.identifier))
    }
    self.issuer = identifier
    endpoints = Self.endpoints(in: object, of: issuer)
    mutualTLSEndpoints = object["mtls_endpoint_aliases"]?.objectValue.map { Self.endpoints(in: $0, of: issuer) } ?? [:]
    func list(_ name: String) -> [String]? { object[name]?.arrayValue?.compactMap(\.stringValue) }
    grantTypesSupported = list("grant_types_supported")
    tokenEndpointAuthMethodsSupported = list("token_endpoint_auth_methods_supported")
    tokenEndpointAuthSigningAlgorithmsSupported = list("token_endpoint_auth_signing_alg_values_supported")
    scopesSupported = list("scopes_supported")
    codeChallengeMethodsSupported = list("code_challenge_methods_supported")
    idTokenSigningAlgorithmsSupported = list("id_token_signing_alg_values_supported")
    sendsIssuerInAuthorizationResponse =
      object["authorization_response_iss_parameter_supported"]?.boolValue ?? false
  }
}

/// An endpoint of an authorization server; the raw value is its member in the server's metadata (RFC 8414 section 2 and
/// its registry).
public enum ProviderEndpoint: String, Sendable, Hashable, CaseIterable {
  /// The authorization endpoint (RFC 6749 section 3.1).
  case authorization = "authorization_endpoint"
  /// The token endpoint (RFC 6749 section 3.2).
  case token = "token_endpoint"
  /// The key set (RFC 7517).
  case jwks = "jwks_uri"
  /// Token introspection (RFC 7662).
  case introspection = "introspection_endpoint"
  /// Token revocation (RFC 7009).
  case revocation = "revocation_endpoint"
  /// Device authorization (RFC 8628).
  case deviceAuthorization = "device_authorization_endpoint"
  /// RP-initiated logout (OpenID Connect).
  case endSession = "end_session_endpoint"
  /// Claims about the user (OpenID Connect Core section 5.3).
  case userInfo = "userinfo_endpoint"
  /// Pushed authorization requests (RFC 9126).
  case pushedAuthorizationRequest = "pushed_authorization_request_endpoint"
}

extension ProviderMetadata: ConciseStringConvertible {
  /// Issuer and number of endpoints.
  public var description: String {
    "metadata of \(Concise.name(issuer)), \(Concise.count(endpoints.count, "endpoint"))"
  }
}
