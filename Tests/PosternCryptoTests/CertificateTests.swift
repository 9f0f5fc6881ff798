import PosternCrypto
import PosternSupport
import Testing

@Suite("Certificate")
struct CertificateTests {
  /// P-256, given by its parameters.
  private static let withParameters = """
    MIICYTCCAgegAwIBAgIUPMhve6xS+ZDPwHHJEU3iKNI2l7cwCgYIKoZIzj0EAwIwDDEKMAgGA1UEAwwBeTAeFw0yNjExMjMxNjA2
    MTlaFw0yNjEyMjMxNjA2MTlaMAwxCjAIBgNVBAMMAXkwggFLMIIBAwYHKoZIzj0CATCB9wIBATAsBgcqhkjOPQEBAiEA/////wAA
    AAEAAAAAAAAAAAAAAAD///////////////8wWwQg/////wAAAAEAAAAAAAAAAAAAAAD///////////////wEIFrGNdiqOpPns+u9
    VXaYhrxlHQawzFOw9jvOPD4n0mBLAxUAxJ02CIbnBJNqZnjhE50mt4GffpAEQQRrF9Hy4SxCR/i85uVjpEDydwN9gS3rM6D0oTlF
    2JjClk/jQuL+Gn+bjufrSnwPnhYrzjNXazFezsu2QGg3v1H1AiEA/////wAAAAD//////////7zm+q2nF56E87nKwvxjJVECAQED
    QgAErC41NQSwG7j0M3pYqGaIGWdJYAX5n27F+R1x7e6p5g1jEdfcc92DzY4/qitvk2pMPpbsBly4sL8SeTBSVeuHbqNTMFEwHQYD
    VR0OBBYEFA32SqwWnMa7yE31RAD8s7pdjAU8MB8GA1UdIwQYMBaAFA32SqwWnMa7yE31RAD8s7pdjAU8MA8GA1UdEwEB/wQFMAMB
    Af8wCgYIKoZIzj0EAwIDSAAwRQIhAO42Uk9qVqsodn4/uuKo1ms6Guy3RaOI6GPAtRMD8sOnAiAecgLOqWTZSYIE3iWhWM3S+wEb
    3De9TrriU8+CEkKKOw==
    """

  @Test("a certificate is read whose curve is given by parameters, which takes long where they are chosen for it")
  func parameters() throws {
    let bytes = try #require(Base64.decode(Self.withParameters.filter { !$0.isWhitespace }))
    let error = #expect(throws: CryptoError.self) { try Certificate(der: bytes) }
    #expect(error?.code == .unsupported)
  }
}
