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
    let form = FormEncoding.encode([
      (name: "client_id", value: issuer.clientID), (name: "id_token_hint", value: idToken),
    ])
    let options = issuer.transferOptions(
      deadline: Deadline(in: Self.timeout, on: upstream.clock), maxBodyBytes: 1 << 20)
    var fields = HTTPFields([.init(name: "Content-Type", value: FormEncoding.mediaType)])
    trace?.add(to: &fields)
    // POST, so that the token stands in no server's log of URLs; every server must take it.
    let request = HTTPRequest(method: "POST", url: url, fields: fields, body: form)
    guard let response = try? await upstream.send(request, options: options, for: .token(issuer.name)) else {
      return .failed
    }
    return (200..<400).contains(response.status) ? .ended : .failed
  }
}
