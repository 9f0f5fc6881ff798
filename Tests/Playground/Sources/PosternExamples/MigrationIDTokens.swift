import Foundation
import PosternKit
import PosternURLLoading

/// The code of proto-docs/migration/id-token-validation.md; a test compares the page with it.
struct MigrationIDTokens {
  let idToken: String?
  let code: String?
  let nonce: String

  func setUp() async throws -> Postern {
    let postern = try await Postern(configuration: "postern.yaml")
    return postern
  }

  func subject(_ postern: Postern, print: (String) -> Void) async throws -> String? {
    switch try await postern.validateIDToken(idToken, nonce: nonce, authorizationCode: code) {
    case .valid(let claims, _, _, _): return claims["sub"]?.stringValue
    case .invalid(let fault):
      print("\(fault.code.rawValue): \(fault.message)")
      return nil
    }
  }

  func isValid(_ postern: Postern, _ jwksUrl: URL, print: (Any) -> Void) async throws -> Bool {
    let manager: any IValidationManager = ValidationManager(
      validator: postern.engine.validators.idTokens, keySets: postern.engine.keySets, flow: .hybrid())
    var error: IDTokenValidationError?
    let isValid = await manager.validate(
      idTokenString: idToken, authorizationCode: code, clientId: "shop", nonce: nonce,
      jwksUrl: try HTTPURL(jwksUrl), config: IDTokenConfiguration(issuer: "https://idp.example.com"), error: &error)
    if let error { print(error) }
    return isValid
  }

  func outcome(
    of manager: any IValidationManager, _ jwksUrl: HTTPURL, _ config: IDTokenConfiguration, print: (String) -> Void
  ) async {
    do throws(IDTokenValidationError) {
      let claims = try await manager.validate(
        idTokenString: idToken, authorizationCode: code, clientId: "shop", nonce: nonce, jwksUrl: jwksUrl,
        config: config)
      print(claims["sub"]?.stringValue ?? "")
    } catch {
      switch error {
      case .invalid(let fault): print("not a valid token: \(fault.code.rawValue)")
      case .undecided(let reason): print("no keys, so nothing is known: \(reason)")
      }
    }
  }

  func keys(_ postern: Postern, _ jwks: Data) throws -> ValidationManager {
    let manager = ValidationManager(
      validator: postern.engine.validators.idTokens, keys: try StaticJWKSet(text: Array(jwks)),
      checks: [TenantCheck(tenant: "acme")])
    return manager
  }

  struct TenantCheck: IDTokenCheck {
    let tenant: String

    func fault(claims: JSONObject, header: JSONObject) -> TokenFault? {
      guard claims["tenant"]?.stringValue != tenant else { return nil }
      return TokenFault(TokenFault.Code(rawValue: "wrong_tenant"), "a token of another tenant", claim: "tenant")
    }
  }

  struct ValidationManagerMock: IValidationManager {
    let claims: JSONObject?

    func validate(
      idTokenString: String?, authorizationCode: String?, clientId: String, nonce: String, jwksUrl: HTTPURL,
      config: IDTokenConfiguration
    ) async throws(IDTokenValidationError) -> JSONObject {
      guard let claims else { throw .invalid(TokenFault(.tokenExpired, "the token has expired")) }
      return claims
    }
  }
}
