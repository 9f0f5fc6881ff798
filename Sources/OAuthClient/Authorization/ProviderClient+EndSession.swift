import HTTPMessages
package import PosternSupport

/// The outcome of ending a login where it began: at the issuer, or at Adobe Pass. Here it has ended in any case.
public enum UpstreamEnd: String, Sendable, CaseIterable {
  /// The login has ended there, and its tokens are revoked.
  case ended
  /// Something of that failed.
  case failed
  /// Nothing was sent: there was nothing to end, or no endpoint for it.
  case none
}

extension ProviderClient {
  /// Ends the user's session at the issuer (RP-Initiated Logout 1.0 section 2), without the user's browser: the session
  /// that the ID token names.
  package func endSession(_ idToken: String, at issuer: Issuer, in scope: CallScope) async -> UpstreamEnd {
    let url: HTTPURL
    do throws(TokenError) {
      url = try await self.url(of: .endSession, at: issuer, in: scope)
    } catch {
      if case .notPossible = error.kind { return .none }
      return .failed
    }
    let members = [(name: "client_id", value: issuer.clientID), (name: "id_token_hint", value: idToken)]
    let options = issuer.transferOptions(
      deadline: Deadline(in: Self.timeout, on: services.clock), maxBodyBytes: 1 << 20, for: scope.user)
    var fields = HTTPFields()
    scope.trace?.add(to: &fields)
    // POST, so that no server logs the token with its URL. Every server must accept it; those that do not get a GET.
    var request = HTTPRequest(method: "POST", url: url, fields: fields, body: FormEncoding.encode(members))
    request.fields["Content-Type"] = FormEncoding.mediaType
    var response = try? await services.send(request, options: options, for: .token(issuer.name), in: scope)
    if let status = response?.status, [404, 405, 501].contains(status) {
      let query = String(decoding: FormEncoding.encode(members), as: UTF8.self)
      guard let url = try? url.addingQuery(query) else { return .failed }
      request = HTTPRequest(method: "GET", url: url, fields: fields)
      response = try? await services.send(request, options: options, for: .token(issuer.name), in: scope)
    }
    return response.map { (200..<400).contains($0.status) } ?? false ? .ended : .failed
  }

  /// Revokes a token (RFC 7009).
  package func revoke(
    _ token: Secret<String>, hint: String?, at issuer: Issuer, timeout: Duration, in scope: CallScope
  ) async throws(TokenError) {
    var form = [(name: "token", value: token.reveal())]
    if let hint { form.append((name: "token_type_hint", value: hint)) }
    let answer = try await post(
      form, to: .revocation, of: issuer, maxBytes: TokenResponse.maxBytes, for: .token(issuer.name), timeout: timeout,
      in: scope)
    // RFC 7009 section 2.2: a success also for a token that is not valid any more.
    try OAuthAnswer(answer.response).requireSuccess(of: "revocation endpoint")
  }
}
