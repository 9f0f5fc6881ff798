import AuthEngine

/// A configured client authentication that this release does not have: every token request fails by name, none goes out without it.
struct UnavailableClientAuthentication: ClientAuthentication {
  let method: String

  func authenticate(_ request: inout TokenEndpointRequest, as clientID: String) throws(TokenError) {
    throw TokenError(.notPossible, "client authentication \(method) is not in this release")
  }
}
