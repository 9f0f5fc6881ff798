/// The members of a token request that name its grant, without those of client authentication.
package enum GrantForm {
  package typealias Members = [(name: String, value: String)]

  /// The type of an access token as a subject (RFC 8693 section 3).
  package static let accessTokenType = "urn:ietf:params:oauth:token-type:access_token"
  package static let jwtType = "urn:ietf:params:oauth:token-type:jwt"
  package static let idTokenType = "urn:ietf:params:oauth:token-type:id_token"

  /// RFC 6749 section 6.
  package static func refreshToken(_ token: String) -> Members {
    [(name: "grant_type", value: "refresh_token"), (name: "refresh_token", value: token)]
  }

  /// RFC 8693.
  package static func tokenExchange(subject: String, type: String, actor: String? = nil) -> Members {
    var form = [
      (name: "grant_type", value: "urn:ietf:params:oauth:grant-type:token-exchange"),
      (name: "subject_token", value: subject), (name: "subject_token_type", value: type),
    ]
    if let actor {
      form.append((name: "actor_token", value: actor))
      form.append((name: "actor_token_type", value: accessTokenType))
    }
    return form
  }

  /// RFC 7523 section 2.1.
  package static func jwtBearer(assertion: String) -> Members {
    [
      (name: "grant_type", value: "urn:ietf:params:oauth:grant-type:jwt-bearer"),
      (name: "assertion", value: assertion),
    ]
  }

  /// RFC 8628 section 3.4.
  package static func deviceCode(_ code: String) -> Members {
    [
      (name: "grant_type", value: "urn:ietf:params:oauth:grant-type:device_code"),
      (name: "device_code", value: code),
    ]
  }

  /// RFC 6749 section 4.1.3, with the verifier of PKCE where one was used.
  package static func authorizationCode(_ code: String, verifier: String?, redirectURI: String) -> Members {
    var form = [
      (name: "grant_type", value: "authorization_code"), (name: "code", value: code),
      (name: "redirect_uri", value: redirectURI),
    ]
    if let verifier { form.append((name: "code_verifier", value: verifier)) }
    return form
  }
}
