import AuthEngine
import JOSE
package import PosternJSON
package import PosternJSONRPC
import PosternProtocol
package import PosternSupport

/// The methods that need neither configuration nor network, for the socket and for the command line.
package enum OfflineMethods {
  /// `verifyJws` with `params` as on the wire.
  package static func verifyJWS(_ params: JSONValue) throws(RPCFault) -> JSONValue {
    try encoded(verify(decoded(params)))
  }

  /// `decryptJwe` with `params` as on the wire.
  package static func decryptJWE(_ params: JSONValue) throws(RPCFault) -> JSONValue {
    try encoded(decrypt(decoded(params)))
  }

  /// The registration of the first certificate of `pem` at an issuer: its thumbprint, and a key set with it.
  package static func registration(ofCertificate pem: [UInt8]) throws(RPCFault) -> JSONValue {
    do throws(JOSEError) {
      let key = try JWK(certificatePEM: pem)
      return [
        "x5t#S256": key.certificateThumbprint.map { .string($0) } ?? .null,
        "jwks": ["keys": [.object(key.publicJSON() ?? [:])]],
      ]
    } catch {
      throw .invalidParams("The file has no certificate that can be used: \(error.message)", path: "")
    }
  }

  static func verify(_ params: VerifyJWS.Params) throws(RPCFault) -> VerifyJWS.Result {
    let allowed =
      try InputLimits.algorithms(params.algorithms, SignatureAlgorithm.init(name:)) ?? SignatureAlgorithm.all
    let keys: JWKSet
    switch (params.jwks, params.jwk) {
    case (let set?, nil): keys = try jose("/jwks") { () throws(JOSEError) in try JWKSet(json: set, origin: .local) }
    case (nil, let key?): keys = JWKSet([try Self.key(key)])
    default: throw .invalidParams("Exactly one of jwks and jwk", path: params.jwk == nil ? "/jwks" : "/jwk")
    }
    var result = VerifyJWS.Result(valid: false)
    do throws(JOSEError) {
      let jws = try CompactJWS(params.jws)
      result.header = .object(jws.header.parameters)
      let algorithm = try jws.algorithm(allowed: allowed)
      let key =
        params.jwk == nil
        ? try keys.verificationKey(for: jws.header, algorithm: algorithm)
        : try meant(keys.keys[0], by: jws.header)
      let payload = try jws.verifiedPayload(with: key, algorithm: algorithm)
      result.valid = true
      (result.payload, result.payloadBase64) = opened(payload)
    } catch {
      result.error = TokenViolation(TokenFault(error))
    }
    return result
  }

  static func decrypt(_ params: DecryptJWE.Params) throws(RPCFault) -> DecryptJWE.Result {
    let allowed =
      try InputLimits.algorithms(params.algorithms, KeyManagementAlgorithm.init(name:))
      ?? KeyManagementAlgorithm.asymmetric + KeyManagementAlgorithm.symmetric
    let key = try key(params.jwk)
    var result = DecryptJWE.Result(valid: false)
    do throws(JOSEError) {
      let jwe = try CompactJWE(params.jwe)
      result.header = .object(jwe.header.parameters)
      let (algorithm, encryption) = try jwe.algorithms(allowed: allowed)
      let plaintext = try jwe.decrypt(
        with: meant(key, by: jwe.header), algorithm: algorithm, encryption: encryption)
      result.valid = true
      (result.plaintext, result.plaintextBase64) = opened(plaintext)
    } catch {
      result.error = TokenViolation(TokenFault(error))
    }
    return result
  }

  /// A single key is the one the caller means, unless its key ID differs from the header's.
  private static func meant(_ key: JWK, by header: JOSEHeader) throws(JOSEError) -> JWK {
    guard let wanted = header.keyID, let name = key.keyID, !wanted.utf8.elementsEqual(name.utf8) else { return key }
    throw JOSEError(.keyNotFound, "the key has another kid than the header", claim: "kid")
  }

  private static func key(_ json: JSONValue) throws(RPCFault) -> JWK {
    guard let members = json.objectValue else {
      throw RPCFault(.jwksInvalid, "a JWK is an object", path: "/jwk")
    }
    return try jose("/jwk") { () throws(JOSEError) in try JWK(json: members) }
  }

  private static func jose<Value>(
    _ path: String, _ body: () throws(JOSEError) -> Value
  ) throws(RPCFault) -> Value {
    do throws(JOSEError) {
      return try body()
    } catch {
      throw RPCFault(.jwksInvalid, error.message, path: path)
    }
  }

  /// The content as text where it is text, else as base64: strings of a result must not contain U+0000.
  private static func opened(_ content: [UInt8]) -> (text: String?, base64: String?) {
    if !content.contains(0), let text = String(validating: content, as: UTF8.self) { return (text, nil) }
    return (nil, Base64.string(content))
  }

  private static func encoded(_ result: some Encodable) throws(RPCFault) -> JSONValue {
    do {
      return try JSONValueEncoder().encode(result)
    } catch {
      throw RPCFault(.internalError)
    }
  }

  private static func decoded<Params: RPCObject>(_ params: JSONValue) throws(RPCFault) -> Params {
    do throws(JSONDecodingError) {
      return try JSONValueDecoder().decode(Params.self, from: params)
    } catch {
      throw RPCFault(error)
    }
  }
}

extension OfflineMethods {
  /// The content of `token` and the reasons for which a validation would reject it, as JSON for people; nothing in it
  /// is trusted.
  package static func inspect(
    _ token: String, issuer: String?, audience: String?, keySet: JSONValue?, clock: some EngineClock
  ) throws(RPCFault) -> JSONValue {
    var expectations = TokenInspector.Expectations(issuer: issuer, audience: audience)
    do throws(JOSEError) {
      expectations.keys = try keySet.map { set throws(JOSEError) in try JWKSet(json: set, origin: .local) }
    } catch {
      throw RPCFault(.jwksInvalid, error.message)
    }
    let inspection = TokenInspector(clock: clock).inspect(token, expecting: expectations)
    var report: JSONObject = ["trusted": false, "looksLike": .string(inspection.kind)]
    if let header = inspection.header { report["header"] = .object(header) }
    if let claims = inspection.claims { report["claims"] = .object(claims) }
    report["signature"] = .string(inspection.signature.rawValue)
    report["wouldFail"] = .array(
      try inspection.findings.map { finding throws(RPCFault) in try encoded(TokenViolation(finding)) })
    return .object(report)
  }
}
