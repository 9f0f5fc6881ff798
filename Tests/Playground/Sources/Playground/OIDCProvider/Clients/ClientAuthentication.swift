import JOSE
import NIOHTTP1
import PosternCrypto
import PosternSupport

/// Client authentication by secret (RFC 6749 section 2.3.1), by signed assertion (RFC 7523 section 2.2), or none.
struct ClientAuthentication: Sendable {
  /// The claims of a request about its client, not yet verified.
  struct Claim: Sendable {
    /// The client that the request claims to come from.
    let id: String
    /// How it wants to prove that.
    let method: PlaygroundClient.Authentication
    /// The secret or the assertion; empty without one.
    let credential: String
  }

  private static let assertionType = "urn:ietf:params:oauth:client-assertion-type:jwt-bearer"

  private let clients: ClientDirectory
  private let assertions: AssertionCheck

  /// Authentication of `clients`, whose assertions `assertions` judges.
  init(clients: ClientDirectory, assertions: AssertionCheck) {
    self.clients = clients
    self.assertions = assertions
  }

  /// Whether there is a client of this id.
  func knows(_ id: String) -> Bool { clients[id] != nil }

  /// The credentials in `request`, by one method and not by several (section 2.3).
  func claim(in request: Request, form: FormParameters) throws(OAuthError) -> Claim {
    let authorizations = request.headers["authorization"]
    guard authorizations.count <= 1 else { throw OAuthError(.invalidRequest, "several Authorization fields") }
    let secret = form["client_secret"]
    let assertion = form["client_assertion"]
    guard [authorizations.first, secret, assertion].count(where: { $0 != nil }) <= 1 else {
      throw OAuthError(.invalidRequest, "several ways of client authentication")
    }
    let claim: Claim
    if let authorization = authorizations.first {
      claim = try Self.basic(authorization)
    } else if let assertion {
      claim = try Self.signed(assertion, type: form["client_assertion_type"])
    } else {
      guard let id = form["client_id"] else { throw OAuthError(.invalidClient, "no client authentication") }
      return Claim(id: id, method: secret == nil ? .none : .post, credential: secret ?? "")
    }
    guard form["client_id"].map({ $0 == claim.id }) ?? true else {
      throw OAuthError(.invalidRequest, "client_id is not the authenticated client")
    }
    return claim
  }

  /// The client that `claim` proves, or that it names when it is a public one.
  func verify(_ claim: Claim) throws(OAuthError) -> PlaygroundClient {
    guard let client = clients[claim.id] else { throw OAuthError(.invalidClient, "unknown client or wrong secret") }
    switch claim.method {
    case .basic, .post:
      guard !client.secret.isEmpty,
        ConstantTime.equals(Array(client.secret.utf8), Array(claim.credential.utf8))
      else { throw OAuthError(.invalidClient, "unknown client or wrong secret") }
    case .privateKeyJWT, .none:
      break
    }
    guard client.authentication.contains(claim.method) else {
      throw OAuthError(.invalidClient, "this client does not use \(claim.method.rawValue)")
    }
    if claim.method == .privateKeyJWT {
      do throws(AssertionCheck.Problem) {
        let claims = try assertions.claims(of: claim.credential, type: "client-authentication+jwt")
        guard claims.string("iss") == client.id, claims.string("sub") == client.id else {
          throw AssertionCheck.Problem(description: "iss and sub must both be the client")
        }
      } catch {
        throw OAuthError(.invalidClient, error.description)
      }
    }
    return client
  }

  /// The client of `request`, once it has proven who it is.
  func client(of request: Request, form: FormParameters) throws(OAuthError) -> PlaygroundClient {
    try verify(try claim(in: request, form: form))
  }

  /// As `client`, but not content with a client that has proven nothing (RFC 7662 section 2.1).
  func confidentialClient(of request: Request, form: FormParameters) throws(OAuthError) -> PlaygroundClient {
    let claim = try claim(in: request, form: form)
    guard claim.method != .none else { throw OAuthError(.invalidClient, "a client that authenticates is expected") }
    return try verify(claim)
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
    return Claim(id: id, method: .basic, credential: secret)
  }

  private static func signed(_ assertion: String, type: String?) throws(OAuthError) -> Claim {
    guard type == assertionType else {
      throw OAuthError(.invalidRequest, "client_assertion_type is not \(assertionType)")
    }
    guard let id = AssertionCheck.claimedIssuer(of: assertion) else {
      throw OAuthError(.invalidClient, "client_assertion is not a JWT with an issuer")
    }
    return Claim(id: id, method: .privateKeyJWT, credential: assertion)
  }
}
