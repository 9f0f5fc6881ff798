import OAuthClient
import PosternJSON
import PosternTestSupport
import Testing

@testable import HTTPMessages
@testable import JOSE
@testable import PosternCrypto
@testable import PosternSupport

/// Samples of the values below the engine.
extension PrintedValuesTests {
  static func support() throws -> Samples {
    let clock = ManualClock()
    let expiring = ExpiringStore<String>.Limits(
      capacity: 1, capacityPerUID: 1, capacityPerHolder: 1, maxBytes: 1, maxBytesPerUID: 1)
    let limits = ConcurrencyLimiterState<String, String>.Limits(sharing: .displacement)
    return [
      "Timestamp": clock.wallNow, "MonotonicInstant": clock.monotonicNow,
      "Deadline": Deadline(in: .seconds(1), on: clock), "Backoff": Backoff(first: .seconds(1), longest: .seconds(9)),
      "ArrivalOrder": ArrivalOrder<String>(),
      "ConcurrencyLimiter": ConcurrencyLimiter(.init(queue: 1, queueTime: .seconds(1)), clock: clock),
      "ConcurrencyLimiter.Limits": ConcurrencyLimiter.Limits(queue: 1, queueTime: .seconds(1)),
      "ConcurrencyLimiterState": ConcurrencyLimiterState<String, String>(limits),
      "ConcurrencyLimiterState.Limits": limits, "ConcurrencyLimiterState.Sharing": limits.sharing,
      "ExpiringStore": ExpiringStore<String>(expiring, clock: clock), "ExpiringStore.Limits": expiring,
      "SharedBudget": SharedBudget(capacityPerUID: 1), "RateLimit": RateLimit(perSecond: 1, burst: 2),
      "TokenBucket": TokenBucket(RateLimit(perSecond: 1, burst: 2), at: clock.monotonicNow),
      "RateLimiter": RateLimiter<String>(capacity: 1), "LockFile": LockFile(at: "/nowhere/lock"),
      "Locked": Locked(secret), "PassedDescriptors": PassedDescriptors(limit: 1),
      "PeerID": PeerID(uid: 1000, connection: 5),
      "SecretFile": SecretFile(path: "/nowhere/secret"), "SecretMemory.Usage": SecretMemory.Usage(),
      "SecretBytes": secret.withSecretBytes(SecretBytes.init(copying:)),
      "Secret": Secret(secret), "SystemClock": SystemClock(),
      "SystemThread.StartError": SystemThread.StartError(code: 11),
      "SingleFlight": SingleFlight<String, String, EndedWait>(
        clock: clock, failure: { $0 }),
    ]
  }

  static func json() throws -> Samples {
    let object: JSONObject = ["access_token": .string(secret), "nested": ["password": .string(secret)]]
    let bytes = JSONWriter().write(.object(object))
    return [
      "JSONValue": JSONValue.object(object), "JSONObject": object,
      "JSONObject.Member": JSONObject.Member(name: foreign, value: .string(secret)),
      "JSONText": JSONText(.object(object)),
      "JSONTree": JSONTree(.object(object)),
      "JSONParser": JSONParser(), "JSONParseError": JSONParseError(kind: .syntax, offset: 3),
      "JSONDecodingError": JSONDecodingError(path: "/name", problem: .unknownMember(closest: "names")),
      "JSONDecodingError.Problem": JSONDecodingError.Problem.unknownMember(closest: nil),
      "RawJSONProblem": RawJSONProblem(.missing),
      "JSONOutline.Member": bytes.withUnsafeBytes { JSONOutline.members(of: $0, atMost: 2)?.first } as Any? ?? "",
    ]
  }

  static func messages() throws -> Samples {
    let url = try HTTPURL("https://api.test/\(String(repeating: "p", count: 500))?token=\(secret)")
    let fields = HTTPFields([
      .init(name: "Authorization", value: "Bearer \(secret)"), .init(name: "Set-Cookie", value: secret),
    ])
    let body = Array(secret.utf8)
    let head = HTTPResponseHead(status: 200, reason: foreign, url: url, fields: fields)
    let pins = try KeyPins(["sha256/\(Base64.string([UInt8](repeating: 7, count: 32)))"], scope: .chain)
    let identity = ClientIdentity(certificateFile: "/etc/cert.pem", key: .text(Secret(secret)))
    let tls = TLSSettings(caFile: "/etc/ca.pem", clientIdentity: identity, pins: pins)
    let challenge = AuthenticationChallenge(
      scheme: "Bearer", token68: secret, parameters: [.init(name: "realm", value: secret)])
    let access = ServerAccess(tls: tls)
    return [
      "AuthenticationChallenge": challenge, "AuthenticationChallenge.Parameter": challenge.parameters[0],
      "HTTPFields": fields, "HTTPFields.Field": fields.lines[0], "IPAddress": IPAddress("10.0.0.1") as Any? ?? "",
      "HTTPRequest": HTTPRequest(method: "POST", url: url, fields: fields, body: body),
      "StreamedRequestBody": StreamedRequestBody(length: nil),
      "HTTPResponse": HTTPResponse(status: 200, reason: foreign, fields: fields, body: body),
      "HTTPResponse.Timing": HTTPResponse(status: 200).timing, "HTTPResponseHead": head, "HTTPURL.Origin": url.origin,
      "HTTPURLError": HTTPURLError(.emptyHost), "KeyPins": pins, "KeyPinsError": KeyPinsError(pin: "sha256/x"),
      "MediaType": MediaType("text/html; charset=utf-8") as Any? ?? "",
      "TransferControl.UploadRead":
        TransferControl.UploadRead.bytes(3),
      "TransferControl": TransferControl(), "TransferControl.Progress": TransferControl.Progress(),
      "TransferControl.Part": TransferControl.Part.piece(body), "TransferOptions": TransferOptions(to: access),
      "ServerAccess": access, "TLSSettings": tls,
      "ConnectionPartition": ConnectionPartition(narrowing: "endpoint", user: Secret(secret)),
      "StreamBounds": StreamBounds(silence: .seconds(1)), "ClientIdentity": identity,
      "ClientIdentity.Key": identity.key,
      "TransportError": TransportError(code: .serverUnreachable, outcome: .notSent, detail: "connection refused"),
    ]
  }

  static func proxies() throws -> Samples {
    var proxy = try OutboundProxy("http://proxy.test:3128")
    proxy.authentication = .basic(username: { Secret("svc") }, password: { Secret(PrintedValue.secret) })
    return [
      "OutboundProxy": proxy, "OutboundProxy.Authentication": proxy.authentication,
      "OutboundProxy.Problem": #expect(throws: OutboundProxy.Problem.self) { try OutboundProxy("x") } as Any? ?? "",
      "OutboundProxySetting": OutboundProxySetting(proxy), "ProxyExceptions": try ProxyExceptions(["a.test"]),
      "ProxyExceptions.Problem":
        #expect(throws: ProxyExceptions.Problem.self) { try ProxyExceptions(["*"]) } as Any? ?? "",
      "PlainHTTPRule": PlainHTTPRule(allowsLoopback: true, origins: [try HTTPURL("http://a.test").origin]),
      "TransportError.ProxyFault": TransportError.ProxyFault(status: 407, isTransient: false),
    ]
  }

  static func keys() throws -> Samples {
    let ec = try ECPrivateKey.generate(.p256)
    let edwards = try EdwardsPrivateKey.generate(.ed25519)
    let montgomery = try MontgomeryPrivateKey.generate(.x25519)
    let rsa = try RSAPrivateKey.generate(bitCount: 2048)
    let bytes = Array(secret.utf8)
    let symmetric = SymmetricKey(bytes)
    let jwk = JWK(.symmetric(symmetric), keyID: foreign)
    let limits = JWKSet.Limits()
    let token = try CompactJWS.sign(
      claims: ["sub": .string(secret), "exp": 4_000_000_000], with: JWK(.ecPrivate(ec)), algorithm: .es256)
    let jws = try CompactJWS(token)
    let encrypted = try CompactJWE.encrypt(
      Array(secret.utf8), for: JWK(.ecPublic(ec.publicKey)), algorithm: .ecdhES, encryption: .a128GCM)
    return [
      "AESCBCHMAC": AESCBCHMAC.sha256, "SealedMessage": SealedMessage(ciphertext: Array(secret.utf8), tag: []),
      "CryptoError": CryptoError(code: .weakKey, message: "1024 bits"), "CryptoError.Code": CryptoError.Code.weakKey,
      "ECPrivateKey": ec, "ECPublicKey": ec.publicKey, "EdwardsPrivateKey": edwards,
      "EdwardsPublicKey": edwards.publicKey, "MontgomeryPrivateKey": montgomery,
      "MontgomeryPublicKey": montgomery.publicKey, "RSAPrivateKey": rsa, "RSAPublicKey": rsa.publicKey,
      "RSAPrivateComponents": RSAPrivateComponents(
        modulus: bytes, exponent: bytes, privateExponent: bytes, prime1: bytes, prime2: bytes, exponent1: bytes,
        exponent2: bytes, coefficient: bytes),
      "RSASignatureScheme": RSASignatureScheme.pss(.sha256), "HMACKey": try HMACKey(.sha256, key: symmetric),
      "ImportedPrivateKey": ImportedPrivateKey.ec(ec), "ImportedPublicKey": ImportedPublicKey.ec(ec.publicKey),
      "SymmetricKey": symmetric, "JOSEError": JOSEError(.invalidKey, "not on the curve"),
      "JOSEError.Code": JOSEError.Code.invalidKey, "ContentEncryption": ContentEncryption.a128GCM,
      "KeyManagementAlgorithm": KeyManagementAlgorithm.ecdhES, "SignatureAlgorithm": SignatureAlgorithm.es256,
      "CompactJWE": try CompactJWE(encrypted), "JWK": jwk, "JWKSet": JWKSet([jwk]), "JWKSet.Limits": limits,
      "JWKSet.RejectedEntry": try JWKSet(json: ["keys": [["kty": "EC", "kid": .string(foreign)]]], origin: .remote)
        .rejected.first as Any? ?? "", "KeyMaterial": jwk.material, "CompactJWS": jws,
      "CompactSerialization": try CompactSerialization(token), "TokenLimits": TokenLimits(), "JOSEHeader": jws.header,
      "JWTClaims": try JWTClaims(["nonce": .string(secret), "exp": 4_000_000_000]),
    ]
  }
}
