public import JOSE
public import PosternJSON
public import PosternSupport

/// Reads a token without trusting it, and lists everything that would make it invalid: for the command line.
///
/// The rules are those of the validators, without those that depend on the request (nonces, hashes).
public struct TokenInspector: Sendable {
  /// The requirements for the token; a part that is nil is not checked.
  public struct Expectations: Sendable {
    /// The issuer that `iss` must name.
    public var issuer: String?
    /// The audience of the token: the client, or the resource of an access token.
    public var audience: String?
    /// The keys of which one must have signed the token.
    public var keys: JWKSet?

    /// Expectations of the given parts.
    public init(issuer: String? = nil, audience: String? = nil, keys: JWKSet? = nil) {
      self.issuer = issuer
      self.audience = audience
      self.keys = keys
    }
  }

  /// The tolerated clock skew, the default of a validation.
  static let clockSkew = Duration.seconds(30)

  private let clock: any EngineClock
  private let limits: TokenLimits

  /// An inspector with the time of `clock`.
  public init(clock: some EngineClock, limits: TokenLimits = TokenLimits()) {
    self.clock = clock
    self.limits = limits
  }

  /// Returns the contents and the violations of `token`.
  public func inspect(_ token: String, expecting expectations: Expectations = Expectations()) -> TokenInspection {
    let parts = token.utf8.count <= limits.maxBytes ? token.split(atByte: ".", omittingEmptySubsequences: false) : []
    let header = parts.first.flatMap { object($0) }
    let isEncrypted = parts.count == 5
    let kind = isEncrypted ? Kind.encrypted : Kind(header: header)
    var inspection = TokenInspection(
      kind: kind.rawValue, header: header, claims: !isEncrypted && parts.count > 1 ? object(parts[1]) : nil,
      signature: .notChecked, findings: [])
    if isEncrypted {
      look(atEncrypted: token, &inspection)
    } else {
      look(atSigned: token, as: kind, expectations, &inspection)
    }
    return inspection
  }

  private func look(atEncrypted token: String, _ inspection: inout TokenInspection) {
    do throws(JOSEError) {
      _ = try CompactJWE(token, limits: limits).algorithms(
        allowed: KeyManagementAlgorithm.asymmetric + KeyManagementAlgorithm.symmetric)
    } catch {
      inspection.findings.append(TokenFault(error))
    }
  }

  private func look(
    atSigned token: String, as kind: Kind, _ expectations: Expectations, _ inspection: inout TokenInspection
  ) {
    var algorithm: SignatureAlgorithm?
    var claims: JWTClaims?
    do throws(JOSEError) {
      let jws = try CompactJWS(token, limits: limits)
      _ = try jws.unverifiedClaims()
      algorithm = try resolve(jws, &inspection)
      if let algorithm, let keys = expectations.keys { verify(jws, algorithm, keys, &inspection) }
    } catch {
      inspection.findings.append(TokenFault(error))
    }
    do throws(JOSEError) {
      claims = try inspection.claims.map { members throws(JOSEError) in try JWTClaims(members) }
    } catch {
      inspection.findings.append(TokenFault(error))
    }
    guard let claims else { return }
    if let parameters = inspection.header, let header = try? JOSEHeader(parameters: parameters) {
      for rule in kind.headerRules {
        if case .failed(let fault) = rule.outcome(for: header, claims: claims) { inspection.findings.append(fault) }
      }
    }
    let context = RuleContext(claims: claims, signer: nil, now: clock.wallNow, clockSkew: Self.clockSkew)
    for rule in kind.claimRules(expectations) {
      if case .failed(let fault) = rule.outcome(in: context) { inspection.findings.append(fault) }
    }
  }

  private func resolve(_ jws: CompactJWS, _ inspection: inout TokenInspection) throws(JOSEError) -> SignatureAlgorithm?
  {
    do throws(JOSEError) {
      return try jws.algorithm(allowed: SignatureAlgorithm.all)
    } catch {
      inspection.findings.append(TokenFault(error, actual: .string(jws.header.algorithm)))
      return nil
    }
  }

  private func verify(
    _ jws: CompactJWS, _ algorithm: SignatureAlgorithm, _ keys: JWKSet, _ inspection: inout TokenInspection
  ) {
    do throws(JOSEError) {
      try jws.verifiedPayload(with: keys.verificationKey(for: jws.header, algorithm: algorithm), algorithm: algorithm)
      inspection.signature = .valid
    } catch {
      inspection.signature = .invalid
      inspection.findings.append(TokenFault(error))
    }
  }

  /// Reads a part as a JSON object, for display: duplicate members and other faults are reported by the validators' own
  /// parser.
  private func object(_ part: Substring) -> JSONObject? {
    Base64URL.decode(String(part)).flatMap {
      try? JSONParser(maxBytes: limits.maxBytes, maxDepth: limits.maxDepth).parse($0).objectValue
    }
  }
}

extension TokenInspector {
  /// The kind of a token, by its own header.
  enum Kind: String {
    case idToken = "ID token"
    case accessToken = "JWT access token"
    case logoutToken = "logout token"
    case encrypted = "encrypted token"

    init(header: JSONObject?) {
      let type = header?["typ"]?.stringValue?.lowercasedASCII()
      switch type {
      case "at+jwt", "application/at+jwt": self = .accessToken
      case "logout+jwt", "application/logout+jwt": self = .logoutToken
      default: self = .idToken
      }
    }

    var headerRules: [any HeaderRule] {
      let type: [any HeaderRule] = self == .idToken ? [TokenTypeRule(accepted: ["JWT"], mayBeAbsent: true)] : []
      return [SymmetricAudienceRule()] + type + [ContentTypeRule()] + (self == .idToken ? [NotALogoutTokenRule()] : [])
    }

    func claimRules(_ expectations: Expectations) -> [any ClaimRule] {
      let issuer: any ClaimRule = expectations.issuer.map { IssuerRule(issuer: $0) } ?? PresenceRule(claim: "iss")
      let audience: any ClaimRule =
        expectations.audience.map { AudienceRule(audience: $0) } ?? PresenceRule(claim: "aud")
      let times: [any ClaimRule] = [ExpirationRule(), NotBeforeRule(), IssuedAtRule()]
      switch self {
      case .idToken:
        let parties: [any ClaimRule] =
          expectations.audience.map {
            [
              TrustedAudienceRule(clientID: $0, trusted: []),
              AuthorizedPartyRule(clientID: $0, isRequired: false),
            ]
          } ?? []
        return [issuer, SubjectRule(), audience] + parties + times
      case .accessToken:
        return [issuer, SubjectRule(), audience, ClientIDRule(clientID: nil)] + times + [
          TokenIdentifierRule(), ConfirmationRule(shown: nil),
        ]
      case .logoutToken:
        let others: [any ClaimRule] =
          expectations.audience.map { [TrustedAudienceRule(clientID: $0, trusted: [])] } ?? []
        return [issuer, audience] + others + times + [
          TokenIdentifierRule(maximumByteCount: 512), LogoutEventRule(), LogoutTargetRule(), NoNonceRule(),
        ]
      case .encrypted:
        return []
      }
    }
  }
}

/// The contents of an unverified token, and the violations that a validation would find.
///
/// For people who inspect a token. Nothing in it is verified but what `signature` states.
public struct TokenInspection: Sendable {
  /// The state of the signature.
  public enum Signature: String, Sendable {
    /// No keys were given, or the token could not be read so far.
    case notChecked
    /// The signature is that of a given key.
    case valid
    /// The signature is wrong; `findings` has the reason.
    case invalid
  }

  /// The kind of token whose rules were checked: `ID token`, `JWT access token`, `logout token`, or `encrypted token`.
  public var kind: String
  /// The protected header, when it can be read.
  public var header: JSONObject?
  /// The claims, when they can be read.
  public var claims: JSONObject?
  /// The state of the signature.
  public var signature: Signature
  /// All violations, in the order of a validation.
  public var findings: [TokenFault]
}

extension TokenInspector: ConciseStringConvertible {}

extension TokenInspector.Expectations: ConciseStringConvertible {
  /// Issuer and audience.
  public var description: String {
    Concise.text(
      "expectations", issuer.map { "issuer \(Concise.name($0))" }, audience.map { "audience \(Concise.name($0))" },
      keys.map { "\($0)" })
  }
}

extension TokenInspection: ConciseStringConvertible {
  /// Kind, signature and violations: no claims.
  public var description: String {
    Concise.text(
      "\(kind), signature \(signature)", Concise.list(findings.map(\.code.rawValue), of: "violation"))
  }
}
