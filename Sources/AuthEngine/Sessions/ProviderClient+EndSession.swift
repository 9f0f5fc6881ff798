import HTTPMessages
import Support

extension ProviderClient {
  /// Tells the issuer that the user's session is over (RP-Initiated Logout 1.0 section 2), without the user's browser: what the
  /// server does with the session that the ID token names.
  func endSession(_ idToken: String, at issuer: Issuer, trace: TraceContext?) async -> UserSessions.UpstreamEnd {
    let url: HTTPURL
    do throws(TokenError) {
      url = try await self.url(of: .endSession, at: issuer, trace: trace)
    } catch {
      if case .notPossible = error.kind { return .none }
      return .failed
    }
    let query = FormEncoding.encode([
      (name: "client_id", value: issuer.clientID), (name: "id_token_hint", value: idToken),
    ])
    let options = issuer.transferOptions(
      deadline: Deadline(in: Self.timeout, on: upstream.clock), maxBodyBytes: 1 << 20)
    var fields = HTTPFields()
    trace?.add(to: &fields)
    guard let target = try? url.addingQuery(String(decoding: query, as: UTF8.self)),
      let response = try? await upstream.send(
        HTTPRequest(method: "GET", url: target, fields: fields), options: options, for: .token(issuer.name))
    else { return .failed }
    return (200..<400).contains(response.status) ? .ended : .failed
  }
}
