import HTTPMessages
import JSON

extension TokenEndpointRequest {
  /// Members of the form that are nobody's business but the endpoint's.
  private static let secretMembers: Set<String> = [
    "actor_token", "assertion", "client_assertion", "client_secret", "code", "code_verifier", "device_code",
    "refresh_token", "subject_token", "token",
  ]

  /// `response`, or in its place its error code alone when its words repeat a secret of this request, as clumsy servers do: callers
  /// are told what an issuer says (RFC 6749 section 5.2), and must not learn the session's tokens from it.
  func withoutEcho(_ response: HTTPResponse) -> HTTPResponse {
    guard response.status != 200,
      let said = try? JSONParser(maxBytes: TokenResponse.maxBytes, maxDepth: 16).parse(response.body)
    else { return response }
    let members = form.filter { Self.secretMembers.contains($0.name) }.map(\.value)
    let credentials = fields["Authorization"].map { $0.split(separator: " ").dropFirst().map(String.init) } ?? []
    let secrets = (members + credentials).filter { !$0.isEmpty }
    func repeats(_ text: String?) -> Bool {
      guard let text else { return false }
      return secrets.contains { text.contains($0) || text.contains(FormEncoding.encode($0)) }
    }
    let code = said["error"]?.stringValue
    guard repeats(code) || repeats(said["error_description"]?.stringValue) else { return response }
    var response = response
    response.body = repeats(code) ? [] : JSONWriter().write(["error": .string(code ?? "")])
    return response
  }
}
