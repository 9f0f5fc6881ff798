import PosternJSON

/// `POST /oidc/token` (RFC 6749 section 3.2): client, proof and grant.
struct TokenEndpoint: Endpoint {
  let authentication: ClientAuthentication
  let dpop: DPoPCheck
  let grants: [PlaygroundClient.Grant: any GrantHandler]
  let faults: Faults
  let statistics: Statistics

  func reply(to request: Request) async throws -> Reply {
    statistics.count(\.tokenRequests)
    do {
      let form = try OAuthForm.parse(request)
      let claim = try authentication.claim(in: request, form: form)
      if authentication.knows(claim.id) { statistics.countTokenRequest(client: claim.id, method: claim.method) }
      let fault = try await faults.strike(.token)
      if let fault, !fault.kind.strikesAfterwards {
        statistics.count(\.tokenErrors)
        return fault.generalReply ?? fault.oauthReply
      }
      let client = try authentication.verify(claim)
      let answer = try answer(to: request, client, form)
      statistics.count(\.tokensIssued)
      return try await send(answer, after: fault)
    } catch let error as OAuthError {
      statistics.count(\.tokenErrors)
      return error.reply
    }
  }

  private func answer(to request: Request, _ client: PlaygroundClient, _ form: FormParameters) throws -> TokenAnswer {
    guard let name = form["grant_type"] else { throw OAuthError(.invalidRequest, "grant_type is missing") }
    guard let grant = PlaygroundClient.Grant(rawValue: name), let handler = grants[grant] else {
      throw OAuthError(.unsupportedGrantType, "the grant type is not a supported one")
    }
    guard client.grants.contains(grant) else {
      throw OAuthError(.unauthorizedClient, "the client is not registered for this grant type")
    }
    statistics.countGrant(grant)
    let proofKey: String?
    do throws(DPoPCheck.Problem) {
      proofKey = try dpop.thumbprint(of: request)
    } catch {
      throw error.oauthError
    }
    guard proofKey != nil || !client.requiresDPoP else {
      throw OAuthError(.invalidDPoPProof, "this client must prove possession of a key")
    }
    return try handler.answer(to: TokenRequest(client: client, form: form, proofKey: proofKey))
  }

  /// The faults that strike here do so when everything is issued and stored: only the answer goes wrong.
  private func send(_ answer: TokenAnswer, after fault: Fault?) async throws -> Reply {
    if let fault {
      statistics.count(\.tokenAnswersSpoiled)
      if fault.kind == .dropAfterIssue { return .hangUp }
      if fault.kind == .slowAnswer { try await faults.wait(for: fault) }
    }
    var reply = Reply(json: .object(answer.json), headers: OAuthError.noStore + dpop.nonceField)
    if fault?.kind == .cutAnswer, case .bytes(let bytes) = reply.body {
      reply.body = .half(bytes)
      return reply
    }
    reply.noteWritten = answer.noteWritten
    return reply
  }
}
