import JOSE
import PosternJSON

/// The rules a valid token must meet, written a second time and naively, over a second parser.
struct ClaimOracle: Sendable {
  var needed: [String] = []
  var forbidden: [String] = []
  var types: [String?] = ["jwt", "application/jwt", nil]
  var trusted: [String] = []
  var nonce: String?
  var subject: String?
  var needsSubject = true

  func check(claims: JSONObject, header: JSONObject) throws {
    let text = JSONWriter().write(.object(claims))
    guard let claims = SecondReading.object(text) else {
      throw InvariantViolation(description: "the claims of a valid token are no JSON")
    }
    try demand(claims["iss"] as? String == TokenPolicies.issuer, "valid with another issuer")
    try demand(!needsSubject || claims["sub"] as? String != nil, "valid without a subject")
    if let subject { try demand(claims["sub"] as? String == subject, "valid with another subject") }
    if let nonce { try demand(claims["nonce"] as? String == nonce, "valid with another nonce") }
    for name in needed { try demand(claims[name] != nil, "valid without \(name)") }
    for name in forbidden { try demand(claims[name] == nil, "valid with \(name)") }
    try checkAudience(claims)
    try checkTimes(claims)
    let type = header["typ"]?.stringValue?.lowercased()
    try demand(types.contains(type), "valid with typ \(type ?? "none")")
  }

  private func checkAudience(_ claims: [String: Any]) throws {
    let audiences = claims["aud"] as? [String] ?? (claims["aud"] as? String).map { [$0] } ?? []
    try demand(audiences.contains("shop"), "valid for another audience")
    // Other audiences of an access token are other resources of the same issuer (RFC 9068 section 4).
    if !needed.contains("client_id") {
      try demand(audiences.allSatisfy { $0 == "shop" || trusted.contains($0) }, "valid with an untrusted audience")
      for name in ["azp", "client_id"] {
        try demand(claims[name] == nil || claims[name] as? String == "shop", "valid with another client in \(name)")
      }
    }
  }

  private func checkTimes(_ claims: [String: Any]) throws {
    let now = Double(TokenPolicies.now)
    let skew = 10.001
    let expiry = SecondReading.number(claims["exp"])
    try demand(expiry.map { now < $0 + skew } ?? false, "valid past its exp")
    let issued = SecondReading.number(claims["iat"])
    try demand(issued.map { $0 <= now + skew } ?? false, "valid before it was issued")
    if claims["nbf"] != nil {
      try demand(SecondReading.number(claims["nbf"]).map { $0 <= now + skew } ?? false, "valid before its nbf")
    }
    guard nonce != nil else { return }
    let authenticated = SecondReading.number(claims["auth_time"])
    try demand(authenticated.map { $0 + 600 + skew >= now } ?? false, "valid though authenticated too long ago")
  }
}
