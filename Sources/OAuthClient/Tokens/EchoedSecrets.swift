package import HTTPMessages
import PosternJSON
import PosternSupport

extension TokenEndpointRequest {
  /// Members of the form with secrets for the endpoint alone.
  private static let secretMembers: Set<String> = [
    "actor_token", "assertion", "client_assertion", "client_secret", "code", "code_verifier", "device_code",
    "refresh_token", "subject_token", "token",
  ]

  /// Returns `response`, reduced to its error code when its texts contain a secret of this request, as some servers'
  /// do: callers get an issuer's error (RFC 6749 section 5.2), and must not learn the session's tokens from it.
  package func withoutEcho(_ response: HTTPResponse) -> HTTPResponse {
    guard response.status != 200,
      let document = try? JSONParser(maxBytes: TokenResponse.maxBytes, maxDepth: 16).parse(response.body)
    else { return response }
    let members = form.filter { Self.secretMembers.contains($0.name) }.map(\.value)
    let credentials = fields["Authorization"].map { $0.split(atByte: " ").dropFirst().map(String.init) } ?? []
    let secrets = SecretSpellings(members + credentials + credentials.compactMap(Self.secret))
    func repeats(_ text: String?) -> Bool { text.map(secrets.occur) ?? false }
    let code = document["error"]?.stringValue
    let codeRepeats = code.map { !OAuthError.registeredCodes.contains($0) && repeats($0) } ?? false
    let texts = [
      document["error_description"]?.stringValue, RequiredInteraction.claimsText(document["claims"]),
      document["acr_values"]?.stringValue,
    ]
    guard codeRepeats || texts.contains(where: repeats) else { return response }
    var response = response
    response.body = codeRepeats ? [] : JSONWriter().write(["error": .string(code ?? "")])
    return response
  }

  /// Returns the secret in HTTP Basic credentials (RFC 6749 section 2.3.1), as the client knows it; nil in credentials
  /// of another kind.
  private static func secret(in credentials: String) -> String? {
    guard let bytes = Base64.decode(credentials) else { return nil }
    let halves = String(decoding: bytes, as: UTF8.self).split(atByte: ":", maxSplits: 1)
    return halves.count == 2 ? FormEncoding.decode("s=\(halves[1])")?.first?.value : nil
  }
}
