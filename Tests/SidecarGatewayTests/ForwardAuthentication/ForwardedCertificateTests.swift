import HTTPMessages
import PosternConfiguration
import PosternJSON
import PosternSupport
import Testing

@testable import SidecarGateway

/// The certificate of the client in the forms of each front: the thumbprint of RFC 8705 depends on every byte of it.
@Suite struct ForwardedCertificateTests {
  /// Bytes whose base64 has `+`, `/` and padding, and takes several lines.
  private static let certificate: [UInt8] =
    [0x30, 0x5C, 0x00, 0xFB, 0xEF, 0xBE, 0xFF, 0xFF, 0xFF] + (0..<91).map { UInt8($0) }
  private static let body = Base64.string(certificate)
  private static let pem: String = {
    let body = Array(Self.body.utf8)
    let lines = stride(from: 0, to: body.count, by: 64).map {
      String(decoding: body[$0..<min($0 + 64, body.count)], as: UTF8.self)
    }
    return "-----BEGIN CERTIFICATE-----\n\(lines.joined(separator: "\n"))\n-----END CERTIFICATE-----\n"
  }()

  private static func read(_ values: [String], as name: String = "X-Client-Cert") throws(ForwardingError) -> String? {
    try ForwardedCertificate.pem(
      in: HTTPFields(values.map { HTTPFields.Field(name: name, value: $0) }), field: name)
  }

  private static func escaped(_ text: String) -> String { PercentEncoding.encode(text, for: .pathSegment) }

  // Would catch a form whose bytes are not those of the certificate, above all a + that becomes a space.
  @Test(
    "the forms of RFC 9440, nginx, HAProxy, Apache and Traefik",
    arguments: [
      ":\(body):", escaped(pem), escaped(pem).replacing("%2B", with: "+"), body, pem.replacing("\n", with: " "), pem,
      "\(body),\(Base64.string([1, 2, 3]))", escaped(body),
    ])
  func forms(value: String) throws {
    #expect(Self.body.contains("+") && Self.body.contains("/"))
    #expect(try Self.read([value]) == Self.pem)
  }

  // Would catch the client's element before that of the front, or a quoted separator that splits one.
  @Test("of Envoy's elements the last one counts, by its Cert")
  func envoy() throws {
    let name = "X-Forwarded-Client-Cert"
    let ours = "By=spiffe://x;Hash=00;Subject=\"CN=a\\\",b;c\";Cert=\"\(Self.escaped(Self.pem))\""
    let other = "Cert=\"\(Self.escaped("-----BEGIN CERTIFICATE-----\nAQID\n-----END CERTIFICATE-----"))\""
    #expect(try Self.read([ours], as: name) == Self.pem)
    #expect(try Self.read(["\(other),\(ours)"], as: name) == Self.pem)
    #expect(throws: ForwardingError.self) { try Self.read(["\(ours),Hash=00"], as: name) }
    #expect(throws: ForwardingError.self) { try Self.read(["\(ours);\(other)"], as: name) }
    #expect(throws: ForwardingError.self) { try Self.read(["\(ours),Subject=\"a"], as: name) }
  }

  // Would catch two certificates of which one is chosen, and a broken one that counts as none.
  @Test("two fields, and what is no certificate, are errors; an empty one means none")
  func others() throws {
    #expect(try Self.read([]) == nil)
    #expect(try Self.read([""]) == nil)
    #expect(throws: ForwardingError.duplicate("X-Client-Cert")) { try Self.read([Self.body, Self.body]) }
    for value in [
      "x", "(null)", ":", "::", ":\(Self.body)", "-----BEGIN CERTIFICATE-----", "%zz", "AAA", ",", "\(Self.body)=",
      String(repeating: "A", count: 16_388),
    ] {
      #expect(throws: ForwardingError.self, "\(value)") { try Self.read([value]) }
    }
  }

  // Would catch a certificate that is taken from a field that is not configured.
  @Test("only the configured field counts")
  func configured() throws {
    var api = ProtectedAPIConfiguration(issuer: "corp", audience: "a")
    let fields: HTTPFields = ["X-Client-Cert": Self.body, "Client-Cert": ":AQID:"]
    let request = ForwardedRequest(method: "GET", remainder: nil, authority: "a", fields: fields)
    #expect(try request.params(for: api)["clientCertificate"] == nil)
    api.clientCertificateHeader = "x-client-cert"
    #expect(try request.params(for: api)["clientCertificate"] == .string(Self.pem))
  }
}
