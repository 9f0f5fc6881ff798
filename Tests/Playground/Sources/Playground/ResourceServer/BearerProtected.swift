import NIOHTTP1

/// An endpoint behind the token check.
struct BearerProtected: Endpoint {
  let inner: any Endpoint
  let check: BearerTokenCheck
  let scope: String?
  let requirement: AuthenticationRequirement?
  let faults: Faults
  let statistics: Statistics

  /// Checks before the endpoint answers and again afterwards: a token that was revoked while a slow answer was under
  /// way is rejected late, as by a server that checks at the end.
  func reply(to request: Request) async throws -> Reply {
    statistics.count(\.resourceRequests)
    do {
      if let fault = try await faults.strike(.resource) {
        if let reply = fault.generalReply { return counted(reply) }
        throw BearerChallenge(code: .invalidToken, description: "rejected by a switched fault")
      }
      let presented = try check.token(of: request, scope: scope)
      try requirement?.check(presented.token, for: request)
      var reply = try await inner.reply(to: request)
      let scheme = presented.token.confirmation == nil ? BearerChallenge.Scheme.bearer : .dpop
      _ = try check.token(presented.text, scope: scope, scheme: scheme)
      if scheme == .dpop { reply.headers.add(contentsOf: HTTPHeaders(check.dpop.nonceField)) }
      return reply
    } catch let challenge as BearerChallenge {
      return counted(challenge.reply)
    }
  }

  private func counted(_ reply: Reply) -> Reply {
    if reply.status == 401 { statistics.count(\.resourceUnauthorized) }
    if reply.status == 403 { statistics.count(\.resourceForbidden) }
    return reply
  }
}
