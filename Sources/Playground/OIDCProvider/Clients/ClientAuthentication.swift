import NIOHTTP1
import Support

/// Client authentication by secret (RFC 6749 section 2.3.1).
struct ClientAuthentication: Sendable {
  /// What a request says about its client, not yet believed.
  struct Claim: Sendable {
    let id: String
    let secret: String
    let method: PlaygroundClient.Authentication
  }

  private let clients: [String: PlaygroundClient]

  /// Authentication of `clients`.
  init(clients: [PlaygroundClient]) {
    self.clients = Dictionary(clients.map { ($0.id, $0) }) { $1 }
  }

  /// Whether there is a client of this id.
  func knows(_ id: String) -> Bool { clients[id] != nil }

  /// The credentials in `request`, by either method but not by both (section 2.3).
  func claim(in request: Request, form: FormParameters) throws(OAuthError) -> Claim {
    let authorizations = request.headers["authorization"]
    guard authorizations.count <= 1 else { throw OAuthError(.invalidRequest, "several Authorization fields") }
    guard let authorization = authorizations.first else {
      guard let id = form["client_id"] else { throw OAuthError(.invalidClient, "no client authentication") }
      return Claim(id: id, secret: form["client_secret"] ?? "", method: .post)
    }
    let claim = try Self.basic(authorization)
    guard form["client_secret"] == nil else { throw OAuthError(.invalidRequest, "two ways of client authentication") }
    guard form["client_id"].map({ $0 == claim.id }) ?? true else {
      throw OAuthError(.invalidRequest, "client_id is not the authenticated client")
    }
    return claim
  }

  /// The client that `claim` proves.
  func verify(_ claim: Claim) throws(OAuthError) -> PlaygroundClient {
    guard let client = clients[claim.id], client.secret == claim.secret else {
      throw OAuthError(.invalidClient, "unknown client or wrong secret")
    }
    guard client.authentication.contains(claim.method) else {
      throw OAuthError(.invalidClient, "this client does not use \(claim.method.rawValue)")
    }
    return client
  }

  /// HTTP Basic (RFC 7617) whose two halves are form-encoded each, so that an id may hold a colon.
  private static func basic(_ authorization: String) throws(OAuthError) -> Claim {
    let parts = authorization.split(separator: " ", maxSplits: 1)
    guard parts.count == 2, parts[0].lowercased() == "basic",
      let pair = Base64.decode(String(parts[1])),
      let colon = pair.firstIndex(of: UInt8(ascii: ":")),
      let id = PercentCoding.decode(pair[..<colon], plusIsSpace: true),
      let secret = PercentCoding.decode(pair[(colon + 1)...], plusIsSpace: true)
    else { throw OAuthError(.invalidClient, "the Authorization field is not well-formed HTTP Basic") }
    return Claim(id: id, secret: secret, method: .basic)
  }
}
