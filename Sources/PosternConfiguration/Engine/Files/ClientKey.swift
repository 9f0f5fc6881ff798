import AuthEngine
import HTTPMessages
import JOSE
import PosternCrypto
import PosternJSON
import PosternSupport

/// The content of a file with a client's private key: PEM, a JWK, a JWK Set of one key (RFC 7517), or the JSON file of a
/// ZITADEL key, which is PEM with its `keyId`.
struct ClientKey {
  private static let maxBytes = 64 << 10

  let isPEM: Bool
  /// The key, with the `kid` that the file has.
  let key: JWK

  /// Reads the text of a file.
  init(_ secret: Secret<String>) throws(JOSEError) {
    let text = Array(secret.reveal().utf8)
    isPEM = text.first { !ASCII.isJSONSpace($0) } != UInt8(ascii: "{")
    key = try isPEM ? JWK(pem: text) : Self.key(inJSON: text)
    guard key.material.isSecret else { throw JOSEError(.invalidKey, "the file has no private key") }
  }

  private static func key(inJSON text: [UInt8]) throws(JOSEError) -> JWK {
    guard let members = try? JSONParser(maxBytes: maxBytes, maxDepth: 16).parse(text).objectValue else {
      throw JOSEError(.invalidKey, "the file begins like JSON and cannot be read as JSON")
    }
    if let pem = members["key"]?.stringValue, let keyID = members["keyId"]?.stringValue {
      return try JWK(pem: Array(pem.utf8), keyID: keyID)
    }
    guard let keys = members["keys"]?.arrayValue else { return try JWK(json: members) }
    guard keys.count == 1, let only = keys[0].objectValue else {
      throw JOSEError(.invalidKey, "a key set of one key is expected")
    }
    return try JWK(json: only)
  }

  /// Whether the first certificate of a PEM text has the key.
  func belongs(toCertificate text: [UInt8]) -> Bool {
    guard let certified = try? JWK(publicPEM: text), let thumbprint = certified.thumbprint else { return false }
    return key.thumbprint == thumbprint
  }
}

extension ClientCredentialConfiguration {
  /// The key in the text of `clientKeyFile`, with the `kid` of the configuration.
  func signingKey(in text: Secret<String>) throws(JOSEError) -> JWK {
    let read = try ClientKey(text).key
    let isNamed = assertionHeaders?.contains(.kid) ?? true
    return read.identified(by: isNamed ? clientKeyID ?? read.keyID : nil)
  }

  /// The form of the client's assertions; `rsaAlgorithm` is the provider's for RSA keys.
  func assertionForm(for key: JWK?, rsaAlgorithm: SignatureAlgorithm?) -> AssertionForm {
    var algorithm = assertionAlgorithm
    if algorithm == nil, let key, key.keyType == .rsa, key.algorithm == nil { algorithm = rsaAlgorithm }
    return AssertionForm(audience: audienceOfAssertions, algorithm: algorithm, thumbprints: thumbprints)
  }

  /// The audience of the client's assertions.
  var audienceOfAssertions: AssertionForm.Audience { assertionAudience ?? .issuer }

  /// The thumbprints of the client's certificate, as it was when the configuration was loaded.
  private var thumbprints: [String: String] {
    guard let file = clientCertificateFile,
      let text = ConfigurationFile.contents(of: file, limit: CertificateChain.maximumByteCount),
      let chain = try? CertificateChain(pem: text), let certificate = try? Certificate(der: chain.certificate)
    else { return [:] }
    var thumbprints: [String: String] = [:]
    for (header, hash) in [(AssertionHeader.x5t, HashFunction.insecureSHA1), (.x5tS256, .sha256)]
    where assertionHeaders?.contains(header) ?? true {
      thumbprints[header.rawValue] = Base64URL.string(certificate.thumbprint(hash))
    }
    return thumbprints
  }
}
