import AuthEngine
import EngineTestSupport
import JOSE
import PosternCrypto
import PosternJSON
import PosternSupport
import Testing

/// The formats of access tokens: each with the token that its provider issues, and with what must not pass for one.
@Suite struct AccessTokenFormatTests {
  typealias Format = AccessTokenExpectations.Format

  /// What a provider issues, as its documentation shows it.
  struct Issued: Sendable, CustomTestStringConvertible {
    let name: String
    let format: Format
    let header: JSONObject
    /// The claims that differ from those of the bench; nil: absent.
    let access: KeyValuePairs<String, JSONValue?>
    let idHeader: JSONObject
    let id: KeyValuePairs<String, JSONValue?>
    /// The claim that names the audience, with one that is not the API.
    var foreignAudience: KeyValuePairs<String, JSONValue?> = ["aud": "https://other.test"]
    /// Whether the format is found without a setting.
    var isRecognized = true
    var testDescription: String { name }
  }

  static let api = "https://api.test"
  static let client: JSONValue = "app"

  static let issued = [
    Issued(
      name: "RFC 9068", format: .rfc9068, header: ["typ": "at+jwt"],
      access: ["client_id": client, "jti": "t", "scope": "read"],
      idHeader: [:], id: ["aud": client, "nonce": "n", "at_hash": "h"]),
    Issued(
      name: "Keycloak", format: .keycloak, header: ["typ": "JWT"],
      access: [
        "typ": "Bearer", "azp": client, "jti": "onrtac:1", "sid": "s", "acr": "1", "scope": "openid read",
        "aud": [.string(api), "account"], "realm_access": ["roles": ["offline_access"]],
        "resource_access": ["account": ["roles": ["view-profile"]]], "allowed-origins": ["https://shop.test"],
      ],
      idHeader: ["typ": "JWT"], id: ["typ": "ID", "azp": client, "aud": client, "jti": "2", "at_hash": "h", "sid": "s"]),
    Issued(
      name: "Entra v2, user", format: .entra, header: ["typ": "JWT"],
      access: [
        "azp": client, "azpacr": "1", "oid": "o", "tid": "11111111-2222-3333-4444-555555555555", "uti": "u",
        "ver": "2.0", "scp": "profile read", "rh": "0.A",
      ],
      idHeader: ["typ": "JWT"],
      id: ["aud": client, "nonce": "n", "oid": "o", "tid": "t", "ver": "2.0", "roles": ["reader"], "uti": "u"]),
    Issued(
      name: "Entra v2, application", format: .entra, header: ["typ": "JWT"],
      access: [
        "azp": client, "azpacr": "1", "oid": "o", "tid": "t", "uti": "u", "ver": "2.0", "roles": ["read"],
        "idtyp": "app",
      ],
      idHeader: ["typ": "JWT"], id: ["aud": client, "oid": "o", "tid": "t", "ver": "2.0", "roles": ["read"]]),
    Issued(
      name: "Entra v1", format: .entra, header: ["typ": "JWT", "x5t": "x"],
      access: [
        "appid": client, "appidacr": "1", "oid": "o", "tid": "t", "ver": "1.0", "scp": "read", "unique_name": "u",
      ],
      idHeader: ["typ": "JWT", "x5t": "x"], id: ["aud": client, "oid": "o", "tid": "t", "ver": "1.0", "amr": ["pwd"]]),
    Issued(
      name: "Okta", format: .okta, header: [:],
      access: ["ver": 1, "jti": "AT.1", "cid": client, "uid": "00u1", "scp": ["openid", "read"]],
      idHeader: [:],
      id: ["aud": client, "ver": 1, "jti": "ID.1", "amr": ["pwd"], "idp": "00o1", "at_hash": "h", "nonce": "n"]),
    Issued(
      name: "Auth0", format: .auth0, header: ["typ": "JWT"],
      access: ["azp": client, "aud": [.string(api), "https://shop.auth0.test/userinfo"], "scope": "openid read"],
      idHeader: ["typ": "JWT"], id: ["aud": client, "sid": "s", "nonce": "n", "nickname": "n"]),
    Issued(
      name: "Auth0, permissions", format: .auth0, header: ["typ": "JWT"],
      access: ["azp": client, "gty": "client-credentials", "permissions": ["read"]],
      idHeader: ["typ": "JWT"], id: ["aud": client, "azp": client, "sid": "s"]),
    Issued(
      name: "Cognito", format: .cognito, header: [:],
      access: [
        "aud": nil, "client_id": client, "token_use": "access", "version": 2, "jti": "j", "origin_jti": "o",
        "username": "u", "scope": "openid https://api.test/read read",
      ],
      idHeader: [:],
      id: ["aud": .string(api), "token_use": "id", "cognito:username": "u", "event_id": "e"],
      foreignAudience: ["scope": "https://other.test/read read"]),
    Issued(
      name: "PingAM", format: .jwt, header: ["typ": "JWT", "zip": "NONE"],
      access: [
        "cts": "OAUTH2_STATELESS_GRANT", "tokenName": "access_token", "token_type": "Bearer", "authGrantId": "g",
        "aud": [.string(api)], "grant_type": "authorization_code", "scope": ["openid", "read"], "realm": "/alpha",
        "expires_in": 3599, "jti": "j",
      ],
      idHeader: ["typ": "JWT"], id: ["tokenName": "id_token", "aud": .string(api), "azp": .string(api)],
      isRecognized: false),
    Issued(
      name: "authentik", format: .authentik, header: ["typ": "JWT"],
      access: [
        "azp": client, "uid": "u", "nonce": "n", "sid": "s", "amr": ["pwd"], "auth_time": 1, "scope": "openid read",
        "acr": "goauthentik.io/providers/oauth2/default",
      ],
      idHeader: ["typ": "JWT"],
      id: ["nonce": "n", "sid": "s", "amr": ["pwd"], "acr": "goauthentik.io/providers/oauth2/default"],
      isRecognized: false),
    Issued(
      name: "ZITADEL", format: .jwt, header: ["typ": "JWT"],
      access: ["aud": [.string(api), "app"], "client_id": client, "jti": "V2_1", "scope": "openid read"],
      idHeader: ["typ": "JWT"],
      id: ["aud": [.string(api), "app"], "azp": client, "client_id": client, "at_hash": "h"],
      isRecognized: false),
  ]

  private func fault(
    _ format: Format?, _ claims: KeyValuePairs<String, JSONValue?>, header: JSONObject,
    over changes: KeyValuePairs<String, JSONValue?> = [:], scopes: [String] = ["read"], issuer: String? = nil,
    presenter: String? = nil, signer: JWK? = nil
  ) async throws -> TokenFault? {
    let bench = try TokenBench()
    var members = bench.claims(["aud": .string(Self.api), "nonce": nil, "auth_time": nil])
    for (name, value) in claims { members[name] = value }
    for (name, value) in changes { members[name] = value }
    let token = try CompactJWS.sign(
      claims: members, with: signer ?? bench.signers.p256, algorithm: .es256, header: header)
    var configuration = bench.configuration
    configuration.accessTokenFormat = format ?? .rfc9068
    configuration.clientID = "shop"
    if let issuer { configuration.issuer = issuer }
    let expectations = AccessTokenExpectations(audience: Self.api, requiredScopes: scopes, clientID: presenter)
    return try await AccessTokenValidator(clock: bench.clock, cache: nil).validate(
      token, expecting: expectations, configuration: configuration, keys: bench.source
    ).fault
  }

  @Test("a provider's own access token is rejected in its format", arguments: issued)
  func accepted(_ issued: Issued) async throws {
    #expect(try await fault(issued.format, issued.access, header: issued.header) == nil)
    #expect(try await fault(issued.format, issued.access, header: issued.header, presenter: "other") != nil)
    guard issued.name != "PingAM" else { return }
    #expect(try await fault(issued.format, issued.access, header: issued.header, presenter: "app") == nil)
  }

  @Test("an ID token passes for an access token, whatever its audience", arguments: issued)
  func idToken(_ issued: Issued) async throws {
    for format in [issued.format, .recognized, .rfc9068] {
      for changes in [[:], ["aud": .string(Self.api)]] as [KeyValuePairs<String, JSONValue?>] {
        let fault = try await fault(format, issued.id, header: issued.idHeader, over: changes, scopes: [])
        #expect(fault != nil, "\(format)")
      }
    }
  }

  @Test("a token that shows its format needs a setting, or one that does not needs none", arguments: issued)
  func recognized(_ issued: Issued) async throws {
    let scopes = issued.name.hasPrefix("Entra v2, app") || issued.name.hasSuffix("permissions") ? [] : ["read"]
    let fault = try await fault(.recognized, issued.access, header: issued.header, scopes: scopes)
    #expect((fault == nil) == issued.isRecognized, "\(fault.map { "\($0)" } ?? "")")
  }

  @Test("the strict format accepts another's token, or names no setting for it", arguments: issued)
  func strict(_ issued: Issued) async throws {
    // The scope of PingAM is a list, which is found first.
    guard issued.format != .rfc9068, issued.name != "PingAM" else { return }
    let fault = try await fault(.rfc9068, issued.access, header: issued.header)
    #expect(fault?.code == .wrongTokenType)
    #expect(fault?.message.contains("format: \(issued.format.rawValue)") == true, "\(fault?.message ?? "")")
  }

  @Test("signature, issuer, audience and expiry count less in a format", arguments: issued)
  func strictParts(_ issued: Issued) async throws {
    func code(_ changes: KeyValuePairs<String, JSONValue?>, signer: JWK? = nil) async throws -> String? {
      try await fault(issued.format, issued.access, header: issued.header, over: changes, signer: signer)?.code.rawValue
    }
    #expect(try await code(["exp": 1]) == "token_expired")
    #expect(try await code(["exp": nil]) == "missing_claim")
    #expect(try await code(["iss": "https://other.test"]) == "iss_mismatch")
    #expect(try await code(issued.foreignAudience) == "aud_mismatch")
    #expect(try await code([:], signer: .generateEC(.p256, keyID: "p256")) == "bad_signature")
    #expect(try await code(["cnf": ["jkt": "x"]]) == "confirmation_required")
  }

  @Test(
    "a token of one provider passes at another's",
    arguments: [Format.keycloak, .entra, .okta, .auth0, .cognito, .authentik])
  func foreign(format: Format) async throws {
    for other in Self.issued where other.format != format {
      // Keycloak's token is what Auth0's is, with more; the other way round it lacks the claim `typ`.
      guard !(format == .auth0 && ["Keycloak", "RFC 9068"].contains(other.name)) else { continue }
      let fault = try await fault(format, other.access, header: other.header, scopes: [])
      #expect(fault != nil, "\(other.name)")
    }
  }

  @Test("a token for the client itself passes as any JWT without proof that it is an access token")
  func clientAudience() async throws {
    let own: KeyValuePairs<String, JSONValue?> = ["aud": [.string(Self.api), "app"], "azp": "app"]
    #expect(try await fault(.jwt, own, header: [:], scopes: [])?.code == .wrongTokenType)
    #expect(try await fault(.jwt, own, header: [:], over: ["scope": "read"]) == nil)
    let configured: KeyValuePairs<String, JSONValue?> = ["aud": [.string(Self.api), "shop"]]
    #expect(try await fault(.jwt, configured, header: [:], scopes: [])?.code == .wrongTokenType)
    #expect(try await fault(.jwt, [:], header: [:], scopes: []) == nil)
    let identified: KeyValuePairs<String, JSONValue?> = ["client_id": "app", "jti": "j"]
    #expect(try await fault(.jwt, own, header: [:], over: identified, scopes: []) == nil)
    for name in ["auth_time", "amr", "acr", "sid"] {
      let changes: KeyValuePairs<String, JSONValue?> = [
        "client_id": "app", "jti": "j", name: name == "auth_time" ? 1 : name == "amr" ? ["pwd"] : "x",
      ]
      #expect(try await fault(.jwt, own, header: [:], over: changes, scopes: []) != nil, "\(name)")
    }
    for (name, value) in [
      ("nonce", "n"), ("at_hash", "h"), ("c_hash", "h"), ("typ", "Refresh"), ("tokenName", "refresh_token"),
      ("token_use", "id"),
    ] {
      #expect(try await fault(.jwt, [:], header: [:], over: [name: .string(value)], scopes: []) != nil, "\(name)")
    }
    #expect(try await fault(.jwt, [:], header: ["typ": "logout+jwt"], scopes: [])?.code == .wrongTokenType)
    #expect(try await fault(.jwt, [:], header: [:], over: ["events": [:]], scopes: []) != nil)
  }

  @Test("a token grants more scopes than its format has: a user's roles, permissions of another format")
  func scopes() async throws {
    let user = Self.issued[2]
    let roles: KeyValuePairs<String, JSONValue?> = ["scp": "profile", "roles": ["read"]]
    #expect(try await fault(.entra, user.access, header: user.header, over: roles)?.code == .insufficientScope)
    let auth0 = Self.issued[6]
    let permissions: KeyValuePairs<String, JSONValue?> = ["scope": "openid", "permissions": ["read"]]
    #expect(try await fault(.auth0, auth0.access, header: auth0.header, over: permissions) == nil)
    #expect(
      try await fault(.recognized, auth0.access, header: auth0.header, over: permissions)?.code == .insufficientScope)
    let plain = Self.issued[0]
    let list: KeyValuePairs<String, JSONValue?> = ["scope": nil, "scp": ["read"]]
    #expect(try await fault(.rfc9068, plain.access, header: plain.header, over: list)?.code == .insufficientScope)
  }

  @Test(
    "another tenant than the token's own fills the place in the issuer of many tenants",
    arguments: [
      ("t-1", "https://login.test/t-1/v2.0", true), ("t-1", "https://login.test/t-2/v2.0", false),
      (nil, "https://login.test/t-1/v2.0", false), (nil, "https://login.test/{tenantid}/v2.0", true),
      ("t/1", "https://login.test/t/1/v2.0", false), ("", "https://login.test//v2.0", false),
      ("{tenantid}", "https://login.test/{tenantid}/v2.0", true),
    ] as [(String?, String, Bool)])
  func tenants(tenant: String?, issuer: String, isValid: Bool) async throws {
    let user = Self.issued[2]
    let changes: KeyValuePairs<String, JSONValue?> = ["tid": tenant.map { .string($0) }, "iss": .string(issuer)]
    let fault = try await fault(
      .entra, user.access, header: user.header, over: changes, issuer: "https://login.test/{tenantid}/v2.0")
    // Nobody but the issuer signs a token with the place itself.
    #expect(fault == nil || fault?.code == .issMismatch)
    #expect((fault == nil) == isValid)
  }
}
