import PosternJSON

/// A way for one part of the playground to go wrong.
struct Fault: Sendable, Equatable {
  /// A part that can go wrong.
  enum Point: String, Sendable, CaseIterable {
    /// Both metadata documents.
    case discovery
    /// The key set.
    case jwks
    /// The token endpoint.
    case token
    /// The authorization endpoint, and the redirect back from it.
    case authorization
    /// The endpoint of pushed authorization requests.
    case pushedAuthorization
    /// The device authorization endpoint.
    case deviceAuthorization
    /// The contents of ID tokens.
    case idToken
    /// The UserInfo endpoint.
    case userinfo
    /// The introspection endpoint.
    case introspection
    /// The revocation endpoint.
    case revocation
    /// The end-session endpoint.
    case logout
    /// Everything under `/resource`.
    case resource
    /// The access manager's authorization and sessions endpoints.
    case ssoAuthorization
    /// The access manager's authenticate endpoint.
    case authenticate
    /// The access manager's information about itself.
    case serverInfo
    /// The access manager's policy evaluation.
    case policies
    /// The gateway.
    case gateway
    /// Adobe Pass: registration of clients.
    case adobeRegistration
    /// Adobe Pass: tokens.
    case adobeToken
    /// Adobe Pass: decisions.
    case adobeDecisions

    /// The kinds that make sense there.
    var kinds: Set<Kind> {
      switch self {
      case .discovery: Kind.general.union([.wrongIssuer])
      case .ssoAuthorization, .serverInfo, .jwks, .pushedAuthorization, .deviceAuthorization, .introspection,
        .revocation, .logout:
        Kind.general
      case .authenticate: Kind.general.union([.sessionTimedOut])
      case .policies: Kind.general.union([.contradiction])
      case .gateway: Kind.general.union([.sameAdvice])
      case .adobeRegistration: Kind.general.union([.rejectCredentials, .dropAfterIssue, .slowAnswer])
      case .adobeToken: Kind.general.union([.rejectCredentials])
      case .adobeDecisions: Kind.general
      case .token: Kind.general.union([.rejectCredentials, .rejectGrant, .dropAfterIssue, .cutAnswer, .slowAnswer])
      case .authorization: Kind.general.union([.denyAccess, .wrongState, .wrongIssuer])
      case .idToken:
        [.wrongIssuer, .wrongAudience, .wrongNonce, .wrongHash, .wrongSubject, .expired, .badSignature]
      case .userinfo, .resource: Kind.general.union([.unauthorized])
      }
    }
  }

  /// The kind of fault.
  enum Kind: String, Sendable, CaseIterable {
    /// 500 with an OAuth error.
    case serverError
    /// 503 with `Retry-After`.
    case unavailable
    /// The right answer after `delayMs`.
    case slow
    /// 200 with a text that is cut off in the middle.
    case malformedJSON
    /// 200 with a web page.
    case html
    /// 401 with an empty body and no challenge.
    case emptyUnauthorized
    /// The advice that has just been satisfied, again.
    case sameAdvice
    /// For each resource a second row with the opposite decision.
    case contradiction
    /// 401 with the access manager's `errorCode` 110.
    case sessionTimedOut
    /// 401 `invalid_client`, whatever the credentials.
    case rejectCredentials = "refuseCredentials"
    /// 400 `invalid_grant`, whatever is presented.
    case rejectGrant = "refuseGrant"
    /// The tokens are issued and stored, then the connection is closed: the answer provably never arrives.
    case dropAfterIssue
    /// The tokens are issued and stored, half of the answer is written, then the connection is closed.
    case cutAnswer
    /// The tokens are issued and stored at once, the answer comes after `delayMs`.
    case slowAnswer
    /// 401 `invalid_token`, whatever the token.
    case unauthorized
    /// A redirect with `access_denied`.
    case denyAccess
    /// A redirect with another `state`.
    case wrongState
    /// Metadata, an `iss` parameter or an ID token of another issuer.
    case wrongIssuer
    /// An ID token for another client.
    case wrongAudience
    /// An ID token with another `nonce`.
    case wrongNonce
    /// An ID token with another `at_hash`.
    case wrongHash
    /// An ID token about another user.
    case wrongSubject
    /// An ID token that has expired long ago.
    case expired
    /// An ID token with a signature that no key made.
    case badSignature

    /// Whether it strikes when everything else has happened.
    var strikesAfterwards: Bool { [.dropAfterIssue, .cutAnswer, .slowAnswer].contains(self) }

    /// The kinds that every endpoint knows.
    static let general: Set<Kind> = [.serverError, .unavailable, .slow, .malformedJSON, .html, .emptyUnauthorized]
  }

  /// The kind of fault.
  var kind: Kind
  /// How many more requests it strikes; nil: all, until it is switched off.
  var times: Int?
  /// For `slow` and `slowAnswer`: how long.
  var delayMilliseconds: Int
  /// For `unavailable`: the value of `Retry-After`.
  var retryAfterSeconds: Int

  /// The fault as `GET /playground/faults` shows it.
  var json: JSONValue {
    var object: JSONObject = ["kind": .string(kind.rawValue)]
    if let times { object["times"] = .integer(Int64(times)) }
    if kind == .slow || kind == .slowAnswer { object["delayMs"] = .integer(Int64(delayMilliseconds)) }
    if kind == .unavailable { object["retryAfterSeconds"] = .integer(Int64(retryAfterSeconds)) }
    return .object(object)
  }
}
