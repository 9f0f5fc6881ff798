package import AuthEngine
import HTTPMessages
import PosternJSON
import PosternSupport

/// An API whose requests a front proxy has checked by Postern (forward authentication).
public struct ProtectedAPIConfiguration: Sendable, Equatable {
  /// The front proxy, which decides in which fields it reports the original request.
  public enum Dialect: String, Sendable, Hashable, CaseIterable {
    /// nginx, with `auth_request`: `X-Original-Method` and `X-Original-URI`, or `X-Original-URL`.
    case nginx
    /// Caddy, with `forward_auth`: `X-Forwarded-Method` and `X-Forwarded-Uri`.
    case caddy
    /// Traefik, with `forwardAuth`: the same.
    case traefik
    /// HAProxy: the same, set by its configuration.
    case haproxy
    /// Envoy, with `ext_authz` over HTTP: the method and the path of its request are the original ones.
    case envoy
    /// Apache httpd, with mod_lua: those of nginx.
    case apache
  }

  /// The issuer of the tokens.
  public var issuer: String
  /// The audience that the tokens must be for.
  public var audience: String
  /// The scopes that must all be granted. Default none.
  public var requiredScopes: [String] = []
  /// Whether requests may, must or must not have a proof. Default `optional`.
  package var dpop = RequestRequirements.ProofRule.optional
  /// The fields that report the user to the API, by name, with the claim of each. Default none.
  public var identityHeaders: [String: String] = [:]
  /// How many bytes these may take together. Default 3,840: with the rest of the response, what nginx reads.
  public var identityHeaderBytes = 3840
  /// The time since the user authenticated, at most (RFC 9470); nil: any.
  public var maxAge: Duration?
  /// The accepted authentication contexts, the preferred one first (RFC 9470); empty: any.
  public var acrValues: [String] = []
  /// The front proxy; nil: any of them, as long as its fields do not contradict each other.
  public var dialect: Dialect?
  /// The origin that clients use; nil: that of `X-Forwarded-Proto` and `X-Forwarded-Host`.
  public var origin: String?
  /// The field with the certificate of the client's TLS connection; nil: none.
  public var clientCertificateHeader: String?

  /// An API of one issuer and audience, with defaults for everything else.
  package init(issuer: String, audience: String) {
    self.issuer = issuer
    self.audience = audience
  }
}

extension ProtectedAPIConfiguration: ConfigurationSection {
  package init(reading keys: SectionReader) {
    issuer = keys.required("issuer", .text, "Issuer of the tokens, by its name in issuers.", example: .shown("corp"))
    audience = keys.required(
      "audience", .text, "Audience that the tokens must be for.", example: .shown("https://orders.example.com"))
    requiredScopes = keys.list(
      "requiredScopes", of: .scopeName, default: [], "Scopes that must all be granted.",
      example: .shown(["orders:read"]))
    dpop = keys.value(
      "dpop", .choice(RequestRequirements.ProofRule.self, placeholder: .optional), default: .optional,
      "Whether requests may, must or must not have a proof of possession (RFC 9449).")
    identityHeaders = keys.texts(
      "identityHeaders",
      "Header fields that report the user to the API, by name, with the claim of each, or its path (realm_access.roles). Every accepted request gets all.",
      example: .shown(["X-User": "sub"]))
    identityHeaderBytes = keys.value(
      "identityHeaderBytes", .size(256...(64 << 10)), default: identityHeaderBytes,
      "Bytes of all identity headers together; the longest are empty where they take more. nginx reads 4 KiB, or its proxy_buffer_size."
    )
    maxAge = keys.optional(
      "maxAge", .duration(.zero ... .seconds(31_536_000)),
      "Time since the user authenticated, at most (RFC 9470).", example: .commented("15m"))
    acrValues = keys.list(
      "acrValues", of: .scopeName, default: [],
      "Accepted authentication contexts, the preferred one first (RFC 9470). Empty: any.",
      example: .commented(["urn:example:mfa"]))
    dialect = keys.optional(
      "dialect", .choice(Dialect.self, placeholder: .nginx),
      "The front proxy: only its own fields count then. Left out: any of them, as long as they do not contradict each other.",
      example: .shown("nginx"))
    origin = keys.optional(
      "origin", .origin,
      "Origin that clients use, for DPoP proofs. Left out: that of X-Forwarded-Proto and X-Forwarded-Host.",
      example: .shown("https://orders.example.com"))
    clientCertificateHeader = keys.optional(
      "clientCertificateHeader", .text,
      "Header field in which the front reports the client's certificate; the front must remove it from what clients send.",
      example: .commented("X-Client-Cert"))
    checkNames(keys)
  }

  /// Checks the names of header fields.
  private func checkNames(_ keys: SectionReader) {
    var seen: Set<String> = []
    for name in identityHeaders.keys.sorted() {
      let path = keys.path.key("identityHeaders").key(name)
      if let problem = Self.problem(withIdentityHeader: name) {
        keys.context.problem(problem, at: path)
      } else if !seen.insert(HTTPFieldRules.canonical(name)).inserted {
        keys.context.problem("is given twice, in another case", at: path)
      }
    }
    guard let name = clientCertificateHeader else { return }
    if !HTTPFieldRules.isName(name) || HTTPFieldRules.isReserved(name) {
      keys.problem("must be the name of a header field of its own", at: "clientCertificateHeader")
    } else if seen.contains(HTTPFieldRules.canonical(name)) {
      keys.problem("is an identity header, too", at: "clientCertificateHeader")
    }
  }

  /// Why `name` cannot carry a claim; nil where it can. Servers drop names with other characters than letters, digits
  /// and `-`, or make one of two (RFC 3875 section 4.1.18).
  private static func problem(withIdentityHeader name: String) -> String? {
    let canonical = HTTPFieldRules.canonical(name)
    guard HTTPFieldRules.isName(name), canonical == name.lowercased(), name.utf8.first != UInt8(ascii: "-") else {
      return "must be letters, digits and hyphens"
    }
    let others = ["dpop-nonce", "authorization", "retry-after", "server", "vary", "etag", "expires", "age", "allow"]
    let hasOtherUse =
      !HTTPFieldRules.mayCarryCredential(name) || others.contains(canonical)
      || ["x-forwarded-", "x-original-"].contains { canonical.hasPrefix($0) }
    return hasOtherUse ? "is a header field with a use of its own" : nil
  }
}

extension ValueForm where Value == String {
  /// One scope or authentication context: printable, without spaces, quotes and backslashes (RFC 6749 section 3.3).
  fileprivate static var scopeName: Self {
    text { name, _ throws(ValueProblem) in
      let isName = name.utf8.allSatisfy { $0 > 0x20 && $0 < 0x7F && $0 != 0x22 && $0 != 0x5C }
      guard isName else { throw ValueProblem("must be printable ASCII without spaces, quotes and backslashes") }
      return name
    }
  }
}
