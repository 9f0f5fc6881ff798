import PosternJSON

/// `POST /oidc/par` (RFC 9126 section 2).
struct PushedAuthorizationEndpoint: Endpoint {
  let authentication: ClientAuthentication
  let dpop: DPoPCheck
  let requests: AuthorizationRequests
  let pushed: PushedRequests
  let faults: Faults
  let statistics: Statistics

  func reply(to request: Request) async throws -> Reply {
    statistics.count(\.pushedAuthorizationRequests)
    if let reply = try await faults.strike(.pushedAuthorization)?.generalReply { return reply }
    do throws(OAuthError) {
      let form = try OAuthForm.parse(request)
      // Section 2.1: `client_id` is required, whichever way the client authenticates.
      _ = try authentication.client(of: request, form: form)
      guard form["request_uri"] == nil else { throw OAuthError(.invalidRequest, "request_uri cannot be pushed") }
      let proofKey = try proofKey(of: request)
      var parameters = form
      // RFC 9449 section 10.1: the proof names the key as `dpop_jkt` does.
      if let proofKey {
        guard form["dpop_jkt"].map({ $0 == proofKey }) ?? true else {
          throw OAuthError(.invalidDPoPProof, "dpop_jkt is another key than the one of the proof")
        }
        if form["dpop_jkt"] == nil { parameters = parameters.adding("dpop_jkt", proofKey) }
      }
      let checked = try requests.parse(parameters, to: try requests.destination(parameters))
      let reference = try pushed.push(checked)
      return Reply(
        status: 201,
        json: ["request_uri": .string(reference), "expires_in": .integer(PushedRequests.lifetimeSeconds)],
        headers: OAuthError.noStore + dpop.nonceField)
    } catch {
      return error.reply
    }
  }

  private func proofKey(of request: Request) throws(OAuthError) -> String? {
    do throws(DPoPCheck.Problem) {
      return try dpop.thumbprint(of: request)
    } catch {
      throw error.oauthError
    }
  }
}
