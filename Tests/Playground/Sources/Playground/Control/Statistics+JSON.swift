import PosternJSON

extension Statistics.Counters {
  /// The counters as `GET /playground/statistics` shows them.
  var json: JSONValue {
    let numbers: [(String, Int)] = [
      ("connections", connections),
      ("abandonedRequests", abandonedRequests),
      ("discoveryRequests", discoveryRequests),
      ("keySetRequests", keySetRequests),
      ("authorizationRequests", authorizationRequests),
      ("pushedAuthorizationRequests", pushedAuthorizationRequests),
      ("deviceAuthorizationRequests", deviceAuthorizationRequests),
      ("logins", logins),
      ("loginsRejected", loginsRejected),
      ("codesIssued", codesIssued),
      ("codeReplays", codeReplays),
      ("tokenRequests", tokenRequests),
      ("tokensIssued", tokensIssued),
      ("tokenErrors", tokenErrors),
      ("tokenAnswersSpoiled", tokenAnswersSpoiled),
      ("idTokensIssued", idTokensIssued),
      ("refreshTokensIssued", refreshTokensIssued),
      ("refreshTokensPresented", refreshTokensPresented),
      ("refreshTokenReuseDetected", refreshTokenReuseDetected),
      ("refreshTokenFamiliesRevoked", refreshTokenFamiliesRevoked),
      ("dpopProofsRejected", dpopProofsRejected),
      ("dpopNonceChallenges", dpopNonceChallenges),
      ("userInfoRequests", userInfoRequests),
      ("introspectionRequests", introspectionRequests),
      ("revocationRequests", revocationRequests),
      ("logoutRequests", logoutRequests),
      ("resourceRequests", resourceRequests),
      ("resourceUnauthorized", resourceUnauthorized),
      ("resourceForbidden", resourceForbidden),
      ("openRequests", openRequests),
      ("misbehavingRequests", misbehavingRequests),
      ("serverInfoRequests", serverInfoRequests),
      ("ssoAuthorizations", ssoAuthorizations),
      ("policyEvaluations", policyEvaluations),
      ("ssoLogouts", ssoLogouts),
      ("authenticateRequests", authenticateRequests),
      ("gatewayRequests", gatewayRequests),
      ("gatewayAdvices", gatewayAdvices),
      ("adobeRegistrations", adobeRegistrations),
      ("adobeTokens", adobeTokens),
      ("adobeDecisions", adobeDecisions),
      ("adobeThrottled", adobeThrottled),
    ]
    let grants = grants.map { ($0.key.rawValue, $0.value) }.sorted { $0.0 < $1.0 }
    let clients = clients.sorted { $0.key < $1.key }.map { ($0.key, $0.value.json) }
    var json = JSONObject(numbers.map { ($0.0, .integer(Int64($0.1))) })
    json["grants"] = .object(JSONObject(grants.map { ($0.0, .integer(Int64($0.1))) }))
    json["clients"] = .object(JSONObject(clients))
    return .object(json)
  }
}

extension Statistics.ClientCounters {
  /// All requests, those by either kind of secret, and by other methods where there were any.
  fileprivate var json: JSONValue {
    var json: JSONObject = ["requests": .integer(Int64(requests))]
    for method in PlaygroundClient.Authentication.allCases {
      let count = methods[method] ?? 0
      if count > 0 || method == .basic || method == .post { json[method.rawValue] = .integer(Int64(count)) }
    }
    return .object(json)
  }
}
