import Testing

@testable import PosternConfiguration

@Suite("Reading without describing")
struct ReadingTests {
  private static let issuer = SourceNode(
    content: .mapping([
      SourceEntry(
        key: "issuer", keyOrigin: .unknown,
        value: SourceNode(
          content: .scalar(SourceScalar(text: "https://idp.test", style: .plain)), origin: .unknown))
    ]), origin: .unknown)

  @Test("a reading describes keys, of which a large file has tens of thousands")
  func descriptions() {
    let context = ReadingContext(dependencies: .none)
    let reader = SectionReader(Self.issuer, at: ConfigurationPath(), in: context)
    #expect(IssuerConfiguration(reading: reader).issuer == "https://idp.test")
    reader.finish()
    #expect(context.problems.isEmpty && reader.specification.keys.isEmpty)
  }

  @Test("a section that is left out differs from one without keys, or from its description's")
  func leftOut() throws {
    let context = ReadingContext(dependencies: .none)
    let reader = SectionReader(Self.issuer, at: ConfigurationPath(), in: context)
    let read = IssuerConfiguration(reading: reader)
    #expect(read.tls == .allDefaults && read.idToken == .allDefaults && read.endpoints == .allDefaults)
    #expect(read.jwks == .allDefaults && read.implicit == nil && read.accessManager == nil)
    let given = try Fixture("issuers: { a: { issuer: https://idp.test, tls: {}, idToken: {}, jwks: {} } }")
      .configuration()
    #expect(given.issuers["a"] == read)
  }

  @Test("control characters and white space among the first 128 are others than Unicode's")
  func scalars() {
    for scalar in (0...0x2100).compactMap(Unicode.Scalar.init) {
      #expect(
        scalar.isControl == (scalar.properties.generalCategory == .control), "U+\(String(scalar.value, radix: 16))")
      #expect(scalar.isWhitespace == scalar.properties.isWhitespace, "U+\(String(scalar.value, radix: 16))")
    }
  }
}
