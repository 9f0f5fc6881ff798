import AuthEngine
import EngineTestSupport
import HTTPMessages
import PosternJSON
import PosternSupport
import PosternTestSupport
import Testing

/// `ValidationManager`: the SDK's forms, over every rule of the validator.
@Suite struct ValidationManagerTests {
  private let bench: TokenBench
  private let url: HTTPURL

  init() throws {
    bench = try TokenBench()
    url = try HTTPURL("https://idp.test/jwks")
  }

  private struct Tenant: IDTokenCheck {
    let name: String

    func fault(claims: JSONObject, header: JSONObject) -> TokenFault? {
      guard claims["tenant"]?.stringValue != name || header["alg"] == nil else { return nil }
      return TokenFault(TokenFault.Code(rawValue: "wrong_tenant"), "another tenant's token", claim: "tenant")
    }
  }

  /// The outcome in both forms, which must be the same.
  private func code(
    _ token: String?, nonce: String = "n-1", clientId: String = "shop", code: String? = nil,
    by manager: any IDTokenValidating
  ) async -> String? {
    var error: IDTokenValidationError? = .invalid(TokenFault(.tokenExpired, "from an earlier call"))
    let isValid = await manager.validate(
      idTokenString: token, authorizationCode: code, clientId: clientId, nonce: nonce, jwksUrl: url,
      config: bench.configuration, error: &error)
    #expect(isValid == (error == nil))
    do {
      let claims = try await manager.validate(
        idTokenString: token, authorizationCode: code, clientId: clientId, nonce: nonce, jwksUrl: url,
        config: bench.configuration)
      #expect(isValid && claims["sub"] == "user-1")
      return nil
    } catch let thrown {
      #expect(thrown.description == error?.description)
      guard case .undecided(let fault) = thrown else { return thrown.code?.rawValue }
      return fault.kind.code.reason
    }
  }

  @Test("A rule is skipped, or a token that is missing counts as valid")
  func rules() async throws {
    let manager = ValidationManager(validator: bench.validator, keys: bench.source)
    #expect(await code(try bench.token(), by: manager) == nil)
    #expect(await code(nil, by: manager) == "missing_token")
    #expect(await code("", by: manager) == "malformed_token")
    #expect(await code(try bench.token(), nonce: "other", by: manager) == "nonce_mismatch")
    #expect(await code(try bench.token(), clientId: "other", by: manager) == "aud_mismatch")
    #expect(await code(try bench.token(["client_id": "other"]), by: manager) == "client_id_mismatch")
    #expect(await code(try bench.token(["client_id": "shop"]), by: manager) == nil)
    #expect(await code(try bench.token(["exp": 1]), by: manager) == "token_expired")
    #expect(await code(try bench.token(["iss": "https://other.test"]), by: manager) == "iss_mismatch")
    #expect(await code(try bench.token(["c_hash": "AAAA"]), code: "c", by: manager) == "c_hash_mismatch")
    let unsigned = TokenBench.raw(header: #"{"alg":"none"}"#, payload: "{}")
    #expect(await code(unsigned, by: manager) == "alg_not_allowed")
    let hybrid = ValidationManager(validator: bench.validator, keys: bench.source, flow: .hybrid())
    #expect(await code(try bench.token(), code: "c", by: hybrid) == "missing_claim")
  }

  @Test("Without keys a token counts as valid, or as invalid")
  func undecided() async throws {
    let manager = ValidationManager(validator: bench.validator, keys: bench.source)
    bench.source.fail(with: KeySetError(.fetchFailed, "no keys"))
    #expect(await code(try bench.token(), by: manager) == "jwks_fetch_failed")
  }

  @Test("A check of the program's own accepts what the validator rejects, or its rejection is lost")
  func checks() async throws {
    let manager = ValidationManager(
      validator: bench.validator, keys: bench.source, checks: [Tenant(name: "a"), Tenant(name: "a")])
    #expect(await code(try bench.token(["tenant": "a"]), by: manager) == nil)
    #expect(await code(try bench.token(["tenant": "b"]), by: manager) == "wrong_tenant")
    #expect(await code(try bench.token(["tenant": "a", "exp": 1]), by: manager) == "token_expired")
  }

  private struct Keys: JWKSProviding {
    let source: any KeySource
    let urls = Locked<[String]>([])

    func keys(at url: HTTPURL) -> any KeySource {
      urls.withLock { $0.append(url.description) }
      return source
    }
  }

  @Test("The keys are not those of the call's jwksUrl")
  func providedKeys() async throws {
    let keys = Keys(source: bench.source)
    let manager = ValidationManager(validator: bench.validator, keySets: keys)
    #expect(await code(try bench.token(), by: manager) == nil)
    #expect(keys.urls.withLock { $0 } == ["https://idp.test/jwks", "https://idp.test/jwks"])
  }

  @Test("A store of key sets does not fetch the set of the call's jwksUrl, or fetches it over plain http")
  func store() async throws {
    let engine = Engine { _, _ in .json(#"{"keys":[]}"#) }
    let store = KeySetStore(engine.services, discovery: engine.discovery)
    let manager = ValidationManager(validator: bench.validator, keySets: store)
    #expect(await code(try bench.token(), by: manager) == "key_not_found")
    #expect(Set(engine.transport.requests.map(\.url.description)) == ["https://idp.test/jwks"])
    let count = engine.transport.requests.count
    _ = try? await manager.validate(
      idTokenString: bench.token(), authorizationCode: nil, clientId: "shop", nonce: "n-1",
      jwksUrl: HTTPURL("http://127.0.0.1/jwks"), config: bench.configuration)
    #expect(engine.transport.requests.count == count)
  }

  @Test("Key sets behind an authority of one's own cannot be had")
  func privateAuthority() async throws {
    let engine = Engine { _, _ in .json(#"{"keys":[]}"#) }
    let store = KeySetStore(engine.services, discovery: engine.discovery)
    let access = ServerAccess(tls: TLSSettings(caFile: "/etc/ca.pem"))
    let manager = ValidationManager(validator: bench.validator, keySets: store.reached(by: access))
    #expect(await code(try bench.token(), by: manager) == "key_not_found")
    #expect(Set(engine.transport.options.map(\.access.tls.caFile)) == ["/etc/ca.pem"])
  }

  private struct Permissive: IValidationManager {
    func validate(
      idTokenString: String?, authorizationCode: String?, clientId: String, nonce: String, jwksUrl: HTTPURL,
      config: IDTokenConfiguration
    ) async throws(IDTokenValidationError) -> JSONObject { ["sub": "user-1"] }
  }

  @Test("A program cannot replace the validation in its tests by one function")
  func replacement() async { #expect(await code(nil, by: Permissive()) == nil) }
}
