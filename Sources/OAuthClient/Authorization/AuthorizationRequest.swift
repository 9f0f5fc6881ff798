import PosternCrypto
public import PosternSupport

/// The parameters of an authorization request (RFC 6749 section 4.1.1, OpenID Connect Core section 3.1.2.1).
public struct AuthorizationRequest: Sendable {
  /// Where the issuer sends the user back to.
  public var redirectURI: String
  /// The scope; nil: the issuer's own.
  public var scope: String?
  /// `prompt`.
  public var prompt: String?
  /// `acr_values`; the ID token's `acr` must be one of them.
  public var acrValues: [String]
  /// `max_age` in seconds; the ID token's `auth_time` must keep it.
  public var maxAge: Int?
  /// `login_hint`.
  public var loginHint: String?
  /// `resource` (RFC 8707).
  public var resource: String?

  /// A request without further parameters.
  public init(redirectURI: String) {
    self.redirectURI = redirectURI
    acrValues = []
  }

  /// The request's form, with PKCE by S256.
  package func form(
    clientID: String, scope: String, state: String, nonce: String, challenge: String
  ) -> [(name: String, value: String)] {
    var form = [
      (name: "response_type", value: "code"), (name: "client_id", value: clientID),
      (name: "redirect_uri", value: redirectURI), (name: "scope", value: scope),
      (name: "state", value: state), (name: "nonce", value: nonce),
      (name: "code_challenge", value: challenge), (name: "code_challenge_method", value: "S256"),
    ]
    func add(_ name: String, _ value: String?) {
      if let value { form.append((name: name, value: value)) }
    }
    add("prompt", prompt)
    add("acr_values", acrValues.isEmpty ? nil : acrValues.joined(separator: " "))
    add("max_age", maxAge.map(String.init))
    add("login_hint", loginHint)
    add("resource", resource)
    return form
  }
}

extension AuthorizationRequest: ConciseStringConvertible {
  /// The scope: the redirect URI may have a secret.
  public var description: String {
    Concise.text("authorization request", scope.map { "scope \(Concise.name($0))" }, prompt.map { "prompt \($0)" })
  }
}

/// Proof Key for Code Exchange (RFC 7636) with S256, the only method.
package struct PKCE: Sendable {
  /// 43 characters of the unreserved set.
  package let verifier: String

  package init(verifier: String) { self.verifier = verifier }

  /// A new one.
  package static func random() -> PKCE { PKCE(verifier: Base64URL.string(SecureRandom.bytes(32))) }

  /// The `code_challenge` of the authorization request.
  package var challenge: String { Base64URL.string(HashFunction.sha256.hash(Array(verifier.utf8))) }
}
