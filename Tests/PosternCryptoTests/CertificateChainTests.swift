import PosternCrypto
import PosternSupport
import Testing

private enum PEM {
  static let certificate = """
    -----BEGIN CERTIFICATE-----
    MIIBdzCCAR2gAwIBAgIUVfbaJ5AWqTH67OcPwDn/2ouD8FIwCgYIKoZIzj0EAwIw
    ETEPMA0GA1UEAwwGY2xpZW50MB4XDTI2MTEyMTIzMTY0NloXDTM2MTExODIzMTY0
    NlowETEPMA0GA1UEAwwGY2xpZW50MFkwEwYHKoZIzj0CAQYIKoZIzj0DAQcDQgAE
    57r8/UciWNF5XggzMRPEaU5hh0mV2MIN83ZUYvwQUv25hqNrTkVHDvHppVJn9d5N
    rzV2O+DgBg+jGivzGrYkUaNTMFEwHQYDVR0OBBYEFMN9yTf7FPSw9o3mmAqR4bp6
    R8mYMB8GA1UdIwQYMBaAFMN9yTf7FPSw9o3mmAqR4bp6R8mYMA8GA1UdEwEB/wQF
    MAMBAf8wCgYIKoZIzj0EAwIDSAAwRQIgDdrX1BneIKF78JsJaj3jwLpSyZYSmKzi
    9/Iam/bBQpUCIQDhCnBW9ozapiYZy/LS8E6efDvd0tE1U/Nr87pNblJ1+w==
    -----END CERTIFICATE-----
    """
  static let key = """
    -----BEGIN PRIVATE KEY-----
    MIGHAgEAMBMGByqGSM49AgEGCCqGSM49AwEHBG0wawIBAQQgGv3KVpI2PvNNWbGO
    C1xcxQgUU0R9HI5GiXj3lLP12rWhRANCAATnuvz9RyJY0XleCDMxE8RpTmGHSZXY
    wg3zdlRi/BBS/bmGo2tORUcO8emlUmf13k2vNXY74OAGD6MaK/MatiRR
    -----END PRIVATE KEY-----
    """
  static let otherKey = """
    -----BEGIN PRIVATE KEY-----
    MIGHAgEAMBMGByqGSM49AgEGCCqGSM49AwEHBG0wawIBAQQgGuPnwS2iIJ4EKyGT
    JAxRdHpXk1VRMn1/BfTKqHZP4PGhRANCAAR5V9JI+d6RGWKQlcT9YG/FyvaI66/l
    FYIBrZkp+Qo6+gJW5aFHLMsarNaaE2qVcYJltY9fUx1VOBV94MQ55aKS
    -----END PRIVATE KEY-----
    """
}

@Suite("CertificateChain")
struct CertificateChainTests {
  @Test("the first certificate counts, with its time")
  func times() throws {
    let chain = try CertificateChain(pem: Array("\(PEM.certificate)\n\(PEM.key)".utf8))
    #expect(chain.notBefore == Timestamp(secondsSinceEpoch: 1795303006))
    #expect(chain.notAfter == Timestamp(secondsSinceEpoch: 2110663006))
  }

  @Test("its key matches; another key and a text that is no key do not")
  func belonging() throws {
    let chain = try CertificateChain(pem: Array(PEM.certificate.utf8))
    #expect(try chain.belongs(toKey: Array(PEM.key.utf8)))
    #expect(try !chain.belongs(toKey: Array(PEM.otherKey.utf8)))
    #expect(throws: CryptoError.self) { try chain.belongs(toKey: Array(PEM.certificate.utf8)) }
    #expect(throws: CryptoError.self) { try chain.belongs(toKey: []) }
  }

  @Test(
    "a text without a certificate is rejected",
    arguments: ["", "garbage", PEM.key, String(PEM.certificate.dropLast(60))])
  func malformed(text: String) {
    #expect(throws: CryptoError.self) { try CertificateChain(pem: Array(text.utf8)) }
  }
}
