import PosternSupport

/// A resource's requirement of the login (RFC 9470): it is in the query, so that a test can require anything.
struct AuthenticationRequirement: Sendable {
  /// The clock for the age of a login.
  let clock: any EngineClock

  /// Rejects a token whose login has none of the `acr` values in `acr`, separated by spaces (`mfa` when the query has
  /// neither), or is older than `maxAge` seconds. A token without a user is rejected, too.
  func check(_ token: AccessToken, for request: Request) throws(BearerChallenge) {
    let query = request.queryParameters
    let maxAge = query?.integer("maxAge", in: 0...31_536_000)
    let required = query?["acr"]?.split(separator: " ").map(String.init) ?? (maxAge == nil ? ["mfa"] : [])
    let age = token.authentication.map { clock.wallNow - $0.time }
    let isStrong = required.isEmpty || token.authentication.map { required.contains($0.acr) } ?? false
    let isRecent = maxAge.map { maxAge in age.map { $0 <= .seconds(maxAge) } ?? false } ?? true
    if isStrong && isRecent { return }
    throw BearerChallenge(
      code: .insufficientUserAuthentication, scheme: token.confirmation == nil ? .bearer : .dpop,
      description: "another authentication is needed", acrValues: required, maxAge: maxAge)
  }
}
