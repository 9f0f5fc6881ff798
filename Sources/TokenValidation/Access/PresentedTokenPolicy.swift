package import HTTPMessages
import JOSE
package import PosternJSON
package import PosternSupport

/// The requirements of an API on the token that a request shows, apart from its origin and its times. A value without
/// state: it is checked at every use of a token, whether that was verified for this use or earlier.
package struct PresentedTokenPolicy: Sendable {
  /// The audience that a token must be for.
  package enum Audience: Sendable {
    /// This one.
    case named(String)
    /// The origin of an API, exactly, or a URL at it. A token without any audience passes where that is allowed.
    case origin(HTTPURL.Origin, mayBeAbsent: Bool)
    /// Any: the issuer has answered for this client.
    case any
  }

  /// The requirement that a token does not meet.
  package enum Violation: Error, Sendable {
    /// It is for another audience.
    case audience(TokenFault)
    /// It is bound to another key than the one shown, or to none.
    case binding(TokenFault)
    /// It lacks a scope.
    case scope(TokenFault)
    /// The user has to authenticate again, or better.
    case authentication(TokenFault)

    package var fault: TokenFault {
      switch self {
      case .audience(let fault), .binding(let fault), .scope(let fault), .authentication(let fault): fault
      }
    }
  }

  package var audience: Audience
  /// The thumbprint of the key whose possession the request proves.
  package var jkt: String?
  /// The thumbprint of the certificate of the client's connection.
  package var x5tS256: String?
  package var requiredScopes: [String]
  package var acrValues: [String]
  package var maxAge: Duration?
  /// The format of the token, which decides what shows its audience and its scopes.
  package var format: AccessTokenExpectations.Format

  package init(
    audience: Audience, jkt: String? = nil, x5tS256: String? = nil, requiredScopes: [String] = [],
    acrValues: [String] = [], maxAge: Duration? = nil, format: AccessTokenExpectations.Format = .rfc9068
  ) {
    self.audience = audience
    self.jkt = jkt
    self.x5tS256 = x5tS256
    self.requiredScopes = requiredScopes
    self.acrValues = acrValues
    self.maxAge = maxAge
    self.format = format
  }

  /// Checks the claims of a genuine token. The order is fixed: what makes a token another one's comes before what its
  /// client can still add to it.
  package func check(_ members: JSONObject, at now: Timestamp, clockSkew: Duration) throws(Violation) {
    let claims: JWTClaims
    do throws(JOSEError) {
      claims = try JWTClaims(members)
    } catch {
      throw .audience(TokenFault(error))
    }
    let context = RuleContext(
      claims: claims, signer: nil, now: now, clockSkew: IDTokenConfiguration.bounded(clockSkew))
    if let fault = audienceFault(context) { throw .audience(fault) }
    if let fault = bindingFault(members["cnf"]) { throw .binding(fault) }
    if let fault = context.firstFault(of: [ScopeRule(required: requiredScopes, format: format)]) { throw .scope(fault) }
    if !acrValues.isEmpty, let fault = context.firstFault(of: [AuthenticationContextRule(accepted: acrValues)]) {
      throw .authentication(fault)
    }
    if let maxAge, let fault = context.firstFault(of: [AuthenticationAgeRule(maxAge: maxAge)]) {
      throw .authentication(fault)
    }
  }

  private func audienceFault(_ context: RuleContext) -> TokenFault? {
    switch audience {
    case .any: return nil
    case .named(let name): return context.firstFault(of: [AudienceRule(audience: name, format: format)])
    case .origin(let origin, let mayBeAbsent):
      guard let audiences = context.claims.audiences else {
        return mayBeAbsent ? nil : TokenFault(.missingClaim, "aud is missing", claim: "aud")
      }
      guard !audiences.contains(where: { Self.isURL($0, at: origin) }) else { return nil }
      return TokenFault(
        .audMismatch, "the token is for another audience", claim: "aud", expected: .string("\(origin)"),
        actual: .array(audiences.map { .string($0) }))
    }
  }

  private static func isURL(_ audience: String, at origin: HTTPURL.Origin) -> Bool {
    // An audience is compared as it is (RFC 7519 section 4.1.3): only the origin's own spelling counts.
    let text = "\(origin)"
    return audience.hasSameBytes(as: text) || audience.startsWithBytes(of: "\(text)/")
  }

  /// A token that is bound in a way that is not understood cannot be accepted (RFC 7800 section 3.1).
  private func bindingFault(_ confirmation: JSONValue?) -> TokenFault? {
    guard let confirmation else {
      return jkt == nil ? nil : Self.mismatch("the token is not bound to the key of the proof")
    }
    guard let members = confirmation.objectValue, !members.isEmpty else {
      return Self.mismatch("cnf names no key")
    }
    for member in members.members where member.name != "jkt" && member.name != "x5t#S256" {
      return Self.mismatch("the token is bound in a way that is not understood")
    }
    if members["jkt"] != nil || jkt != nil {
      guard let jkt else { return Self.mismatch("the token is bound to the key of a proof, and needs it") }
      guard members["jkt"]?.stringValue?.hasSameBytes(as: jkt) == true else {
        return Self.mismatch("the token is not bound to the key of the proof")
      }
    }
    if let bound = members["x5t#S256"] {
      guard let x5tS256 else { return Self.mismatch("the token is bound to a client certificate, and there is none") }
      guard bound.stringValue?.hasSameBytes(as: x5tS256) == true else {
        return Self.mismatch("the token is bound to another client certificate")
      }
    }
    return nil
  }

  private static func mismatch(_ message: String) -> TokenFault {
    TokenFault(.confirmationMismatch, message, claim: "cnf")
  }
}
