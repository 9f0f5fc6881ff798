package import HTTPMessages
import PosternJSON
import PosternSupport

extension TokenEndpointRequest {
  /// Members of the form that are nobody's business but the endpoint's.
  private static let secretMembers: Set<String> = [
    "actor_token", "assertion", "client_assertion", "client_secret", "code", "code_verifier", "device_code",
    "refresh_token", "subject_token", "token",
  ]

  /// `response`, or in its place its error code alone when its words repeat a secret of this request, as clumsy servers
  /// do: callers are told what an issuer says (RFC 6749 section 5.2), and must not learn the session's tokens from it.
  package func withoutEcho(_ response: HTTPResponse) -> HTTPResponse {
    guard response.status != 200,
      let said = try? JSONParser(maxBytes: TokenResponse.maxBytes, maxDepth: 16).parse(response.body)
    else { return response }
    let members = form.filter { Self.secretMembers.contains($0.name) }.map(\.value)
    let credentials = fields["Authorization"].map { $0.split(atByte: " ").dropFirst().map(String.init) } ?? []
    let secrets = SecretSpellings(members + credentials + credentials.compactMap(Self.secret))
    func repeats(_ text: String?) -> Bool { text.map(secrets.occur) ?? false }
    let code = said["error"]?.stringValue
    let codeRepeats = code.map { !OAuthError.registeredCodes.contains($0) && repeats($0) } ?? false
    guard codeRepeats || repeats(said["error_description"]?.stringValue) else { return response }
    var response = response
    response.body = codeRepeats ? [] : JSONWriter().write(["error": .string(code ?? "")])
    return response
  }

  /// The secret in HTTP Basic credentials (RFC 6749 section 2.3.1), as the client knows it; nil in credentials of
  /// another kind.
  private static func secret(in credentials: String) -> String? {
    guard let bytes = Base64.decode(credentials) else { return nil }
    let halves = String(decoding: bytes, as: UTF8.self).split(atByte: ":", maxSplits: 1)
    return halves.count == 2 ? FormEncoding.decode("s=\(halves[1])")?.first?.value : nil
  }
}
