import AuthEngine
import EngineTestSupport
import HTTPMessages
import JOSE
import PosternCrypto
import PosternJSON
import PosternSupport
import PosternTestSupport
import Testing

@testable import TokenValidation

/// An API, an issuer and a client with a key.
struct RequestBench {
  static let url = "https://api.test/orders"

  let tokens: TokenBench
  let store: any RecordStore
  let validator: RequestValidator
  let transport: ScriptedTransport
  let answers: IntrospectionAnswers
  let clientKey: JWK
  var source: TokenSource
  var requirements = RequestRequirements(audience: "https://api.test", requiredScopes: ["read"])

  init(
    store: any RecordStore = MemoryRecordStore(),
    _ script: @escaping ScriptedTransport.Script = { _, _ in .json(#"{"active":false}"#) }
  ) throws {
    tokens = try TokenBench()
    self.store = store
    clientKey = JWK(tokens.signers.p384.material)
    transport = ScriptedTransport(script)
    let clock = tokens.clock
    let services = Services.testing(transport, clock: clock)
    let introspector = TokenIntrospector(services, discovery: ProviderDiscovery(services))
    answers = IntrospectionAnswers(introspector: introspector, clock: clock)
    let judge = TokenJudge(validator: AccessTokenValidator(clock: clock), answers: answers)
    validator = RequestValidator(judge: judge, store: store, clock: clock)
    source = TokenSource(
      issuer: try .testing(endpoints: [.introspection: "https://idp.test/introspect"]),
      tokens: tokens.configuration, keys: tokens.source)
  }

  var thumbprint: String { clientKey.thumbprint ?? "" }

  func token(_ changes: KeyValuePairs<String, JSONValue?> = [:]) throws -> String {
    var claims = tokens.claims([
      "aud": "https://api.test", "client_id": "shop", "jti": "t-1", "scope": "read write", "nonce": nil,
      "acr": "gold",
    ])
    for (name, value) in changes { claims[name] = value }
    return try CompactJWS.sign(
      claims: claims, with: tokens.signers.p256, algorithm: .es256, header: ["typ": "at+jwt"])
  }

  var bound: JSONValue { ["jkt": .string(thumbprint)] }

  func proof(_ token: String, _ changes: KeyValuePairs<String, JSONValue?> = [:], key: JWK? = nil) throws -> String {
    let key = key ?? clientKey
    var claims: JSONObject = [
      "jti": "j-1", "htm": "GET", "htu": .string(Self.url), "iat": .integer(tokens.now),
      "ath": .string(Base64URL.string(HashFunction.sha256.hash(Array(token.utf8)))),
    ]
    for (name, value) in changes { claims[name] = value }
    return try CompactJWS.sign(
      claims: claims, with: key, algorithm: try #require(key.defaultSignatureAlgorithm),
      header: ["typ": "dpop+jwt", "jwk": .object(try #require(key.publicJSON()))])
  }

  func verdict(
    _ authorization: String?, proof: String? = nil, certificate: String? = nil, url: String = RequestBench.url,
    uid: UInt32 = 1
  ) async throws(RequestValidationError) -> RequestVerdict {
    var fields = HTTPFields()
    if let authorization { fields.append("Authorization", authorization) }
    if let proof { fields.append("DPoP", proof) }
    return try await validator.verdict(
      on: IncomingRequest(method: "GET", url: url, fields: fields, clientCertificate: certificate),
      requiring: requirements, from: source, in: .uid(uid))
  }

  /// The code of the rejection; nil for a request that may pass.
  func code(
    _ authorization: String?, proof: String? = nil, certificate: String? = nil, url: String = RequestBench.url,
    uid: UInt32 = 1
  ) async throws(RequestValidationError) -> String? {
    try await verdict(authorization, proof: proof, certificate: certificate, url: url, uid: uid).rejection?.code
      .rawValue
  }
}

extension RequestBench {
  /// Self-signed: its chain is the business of who ended TLS.
  static let certificate = """
    -----BEGIN CERTIFICATE-----
    MIIBeTCCAR+gAwIBAgIUZqpaJ8moCkiVMKqyZdbpWmrMBk8wCgYIKoZIzj0EAwIw
    ETEPMA0GA1UEAwwGY2xpZW50MCAXDTI2MTEyNzAxMTczNFoYDzIxMjYxMTAzMDEx
    NzM0WjARMQ8wDQYDVQQDDAZjbGllbnQwWTATBgcqhkjOPQIBBggqhkjOPQMBBwNC
    AARB0hJoIPaZUXu86dthxbxVo2Kg8REW2Xae/CkKOfyjuyitdXGo+FZJYpK4pjVv
    YsPE/zf9tToz5Su0SHX2BzqDo1MwUTAdBgNVHQ4EFgQUwngXzP3Ik6GLvGsvIq48
    UPknKPQwHwYDVR0jBBgwFoAUwngXzP3Ik6GLvGsvIq48UPknKPQwDwYDVR0TAQH/
    BAUwAwEB/zAKBggqhkjOPQQDAgNIADBFAiBfoujKXYuAeIytSXVTbeE5027XFnUG
    gD0AmpuW2uZDvAIhAJWJLjBiaZfatavBMdOFHpGQijpxDMF9TXU4XuqS/67P
    -----END CERTIFICATE-----
    """
}

extension RequestVerdict {
  var rejection: RequestRejection? { if case .rejected(let rejection) = self { rejection } else { nil } }
}
