import PosternSupport

/// What a resource asks of the login behind a token (RFC 9470): the query says it, so that a test can ask for anything.
struct AuthenticationRequirement: Sendable {
  /// What tells how long ago a login was.
  let clock: any EngineClock

  /// Refuses a token whose login has not one of the `acr` values in `acr`, separated by spaces (`mfa` when nothing is
  /// asked for), or is older than `maxAge` seconds. A token without a user is refused, too.
  func check(_ token: AccessToken, for request: Request) throws(BearerChallenge) {
    let query = request.queryParameters
    let maxAge = query?.integer("maxAge", in: 0...31_536_000)
    let asked = query?["acr"]?.split(separator: " ").map(String.init) ?? (maxAge == nil ? ["mfa"] : [])
    let age = token.authentication.map { clock.wallNow - $0.time }
    let isStrong = asked.isEmpty || token.authentication.map { asked.contains($0.acr) } ?? false
    let isRecent = maxAge.map { maxAge in age.map { $0 <= .seconds(maxAge) } ?? false } ?? true
    if isStrong && isRecent { return }
    throw BearerChallenge(
      code: .insufficientUserAuthentication, scheme: token.confirmation == nil ? .bearer : .dpop,
      description: "another authentication is needed", acrValues: asked, maxAge: maxAge)
  }
}
