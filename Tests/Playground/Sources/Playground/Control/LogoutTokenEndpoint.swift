import PosternJSON
import PosternSupport

/// `POST /playground/logoutToken`: a signed logout token (OpenID Connect Back-Channel Logout 1.0 section 2.4), which
/// the test posts to a client.
///
/// The body:
/// `{"clientId": "shop", "user": "alice", "sid": "…", "claims": {"exp": 1, "events": null}, "type": "logout+jwt"}`;
/// `claims` replaces claims, null leaves one out, so that faulty tokens can be had too.
struct LogoutTokenEndpoint: Endpoint {
  let parts: ProviderParts

  func reply(to request: Request) async throws -> Reply {
    do {
      let body = try ControlBody(request)
      try body.rejectOthers(than: ["clientId", "user", "sid", "claims", "type"])
      guard let client = try body.string("clientId"), parts.clients[client] != nil else {
        throw ControlBody.Problem(message: "clientId: a registered client is expected")
      }
      let now = parts.clock.wallNow.secondsSinceEpoch
      var claims: JSONObject = [
        "iss": .string(parts.issuer),
        "aud": .string(client),
        "iat": .integer(now),
        "exp": .integer(now + 120),
        "jti": .string(RandomText.next()),
        "events": ["http://schemas.openid.net/event/backchannel-logout": [:]],
      ]
      if body.members["user"] != nil { claims["sub"] = .string(try NextLoginEndpoint.user(body).subject) }
      claims["sid"] = try body.string("sid").map { .string($0) }
      if let replaced = body.members["claims"] {
        guard let replacements = replaced.objectValue else {
          throw ControlBody.Problem(message: "claims: an object is expected")
        }
        claims.replace(with: replacements)
      }
      let token = try parts.keys.sign(claims, type: try body.string("type") ?? "logout+jwt")
      return Reply(json: ["logout_token": .string(token)], headers: [("cache-control", "no-store")])
    } catch let error as ControlBody.Problem {
      return .problem(400, error.message)
    }
  }
}

extension JSONObject {
  /// Takes over the members of `changes`; null removes one.
  mutating func replace(with changes: JSONObject) {
    for member in changes.members {
      let isRemoved = member.value == .null
      self[member.name] = isRemoved ? JSONValue?.none : member.value
    }
  }
}
