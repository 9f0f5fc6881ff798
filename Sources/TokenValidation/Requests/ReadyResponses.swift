package import HTTPMessages
import OAuthClient
package import PosternJSON
import PosternSupport

/// Makes an API's responses to requests that may not pass (RFC 6750 section 3, RFC 9449 section 7.1, RFC 9470 section
/// 3, RFC 9728 section 5.1).
struct ReadyResponses: Sendable {
  /// The error of a challenge.
  struct Problem: Sendable {
    var error: String
    var description: String?
    /// Further parameters.
    var parameters: [(name: String, value: String)] = []
  }

  private let realm: String
  private let metadata: String?
  /// The schemes that the API accepts, in the order of challenges.
  private let offered: [TokenType]

  /// `realm` is the API's origin.
  init(realm: String, _ requirements: RequestRequirements) {
    self.realm = realm
    metadata = requirements.resourceMetadata
    offered =
      switch requirements.dpop {
      case .optional: [.bearer, .dpop]
      case .required: [.dpop]
      case .forbidden: [.bearer]
      }
  }

  /// A response in which the challenges of `schemes` have the problem, the others none. All are in one line: old fronts
  /// pass one only.
  func response(
    _ status: Int, _ problem: Problem? = nil, for schemes: [TokenType] = [], nonce: String? = nil
  ) -> ReadyResponse {
    var challenges: [String] = []
    for scheme in schemes where offered.contains(scheme) { challenges.append(challenge(scheme, problem)) }
    for scheme in offered where !schemes.contains(scheme) { challenges.append(challenge(scheme, nil)) }
    var fields = HTTPFields()
    fields.append("WWW-Authenticate", challenges.joined(separator: ", "))
    fields.append("Cache-Control", "no-store")
    if let nonce { fields.append("DPoP-Nonce", nonce) }
    return ReadyResponse(status: status, fields: fields)
  }

  private func challenge(_ scheme: TokenType, _ problem: Problem?) -> String {
    var parameters = [(name: "realm", value: realm)]
    if scheme == .dpop { parameters.append((name: "algs", value: ProofReading.algorithmNames)) }
    if let problem {
      parameters.append((name: "error", value: problem.error))
      if let description = problem.description { parameters.append((name: "error_description", value: description)) }
      parameters += problem.parameters
    }
    if let metadata { parameters.append((name: "resource_metadata", value: metadata)) }
    return "\(scheme.rawValue) "
      + parameters.map { "\($0.name)=\"\(Self.quotable($0.value))\"" }.joined(separator: ", ")
  }

  /// Only what RFC 6750 section 3 permits in a quoted value: none of it needs an escape.
  private static func quotable(_ text: String) -> String {
    String(decoding: text.utf8.filter(isQuotable), as: UTF8.self)
  }

  private static func isQuotable(_ byte: UInt8) -> Bool {
    (0x20...0x7E).contains(byte) && byte != UInt8(ascii: "\"") && byte != UInt8(ascii: "\\")
  }

  /// Whether a text can be one of several in a quoted value, with spaces between them.
  static func isListable(_ text: String) -> Bool {
    !text.isEmpty && text.utf8.allSatisfy { $0 != UInt8(ascii: " ") && isQuotable($0) }
  }
}

/// The metadata of an API (RFC 9728).
package struct ProtectedResourceMetadata: Sendable, Equatable {
  /// The API's identifier, an `https` URL without fragment: clients compare it byte by byte.
  package var resource: String
  /// The identifiers of the issuers whose tokens it accepts.
  var authorizationServers: [String]
  /// The scopes that it requires.
  package var scopes: [String]
  /// Whether it accepts proofs.
  package var dpop: RequestRequirements.ProofRule

  package init(
    resource: String, authorizationServers: [String], scopes: [String] = [],
    dpop: RequestRequirements.ProofRule = .optional
  ) {
    self.resource = resource
    self.authorizationServers = authorizationServers
    self.scopes = scopes
    self.dpop = dpop
  }

  /// The document (RFC 9728 section 2); lists without elements are left out.
  package var document: JSONObject {
    var document: JSONObject = ["resource": .string(resource)]
    func list(_ name: String, _ values: [String]) {
      if !values.isEmpty { document[name] = .array(values.map { .string($0) }) }
    }
    list("authorization_servers", authorizationServers)
    list("scopes_supported", scopes)
    list("bearer_methods_supported", ["header"])
    if dpop != .forbidden {
      list(
        "dpop_signing_alg_values_supported", ProofReading.algorithmNames.split(atByte: " ").map(String.init))
    }
    if dpop == .required { document["dpop_bound_access_tokens_required"] = true }
    return document
  }

  /// Where the document of the API at `resource` is (RFC 9728 section 3.1): the well-known name comes between host and
  /// path, and a path that is only `/` is left out.
  package static func location(of resource: HTTPURL) -> String {
    let path = resource.path == "/" ? "" : resource.path
    let query = resource.query.map { "?\($0)" } ?? ""
    return "\(resource.origin)/.well-known/oauth-protected-resource\(path)\(query)"
  }
}
