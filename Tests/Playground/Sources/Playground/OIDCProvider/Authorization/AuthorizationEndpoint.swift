/// `GET` and `POST /oidc/authorize` (RFC 6749 section 3.1, OpenID Connect Core section 3.1.2).
struct AuthorizationEndpoint: Endpoint {
  let requests: AuthorizationRequests
  let pushed: PushedRequests
  let flow: AuthorizationFlow
  let faults: Faults
  let statistics: Statistics

  func reply(to request: Request) async throws -> Reply {
    statistics.count(\.authorizationRequests)
    let fault = try await faults.strike(.authorization, only: Fault.Kind.general.union([.denyAccess]))
    if let reply = fault?.generalReply { return reply }
    let form: FormParameters
    do throws(OAuthError) {
      form = try Self.parameters(of: request)
      if let uri = form["request_uri"], uri.hasPrefix(PushedRequests.prefix) {
        let checked = try pushed.redeem(uri, by: form["client_id"])
        return answer(.success(checked), to: checked.destination, fault, request)
      }
      let destination = try requests.destination(form)
      let checked = Result { () throws(OAuthError) in try requests.parse(form, to: destination) }
      return answer(checked, to: destination, fault, request)
    } catch {
      return Reply(status: 400, page: ErrorPage.page("\(error.code.rawValue): \(error.description)"))
    }
  }

  private func answer(
    _ checked: Result<AuthorizationRequest, OAuthError>, to destination: AuthorizationRequest.Destination,
    _ fault: Fault?, _ request: Request
  ) -> Reply {
    guard fault == nil else {
      return flow.reject(OAuthError(.accessDenied, "rejected by a switched fault"), to: destination)
    }
    switch checked {
    case .success(let checked): return flow.answer(checked, flow.desk.sessions.session(of: request))
    case .failure(let error): return flow.reject(error, to: destination)
    }
  }

  /// The query of a GET, the form of a POST.
  private static func parameters(of request: Request) throws(OAuthError) -> FormParameters {
    if request.method == "POST" {
      guard request.mediaType == "application/x-www-form-urlencoded" else {
        throw OAuthError(.invalidRequest, "the body must be application/x-www-form-urlencoded")
      }
      guard let form = FormParameters(parsing: request.body) else {
        throw OAuthError(.invalidRequest, "the form is malformed")
      }
      return form
    }
    guard let query = request.queryParameters else { throw OAuthError(.invalidRequest, "the query is malformed") }
    return query
  }
}
