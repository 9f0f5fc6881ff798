import PosternConfiguration
import Testing

/// `tls.pinsRequired` of one section, and `hardening.pinsRequired` for all of them.
@Suite struct PinRequirementTests {
  private static let pin = "sha256/AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA="
  private static let pins = #"tls: { pins: ["\#(pin)"] }"#
  private static let everywhere = "hardening: { pinsRequired: true }"

  private static func problems(_ lines: String...) -> [String] {
    Fixture(lines.joined(separator: "\n")).problems.map { String($0.drop { $0 != " " }.dropFirst()) }.sorted()
  }

  @Test("A section that requires pins and has none starts, and fails at the first request only")
  func section() throws {
    for (section, url) in [
      ("resources", "baseUrl"), ("issuers", "issuer"), ("preauthorization", "kind: authzen, baseUrl"),
    ] {
      func problems(_ tls: String) -> [String] {
        let auth = section == "resources" ? ", auth: none" : ""
        return Self.problems(#"\#(section): { a: { \#(url): "https://a.example"\#(auth), tls: { \#(tls) } } }"#)
      }
      #expect(problems("pinsRequired: true") == ["\(section).a.tls.pinsRequired: there are no pins"])
      #expect(problems(#"pinsRequired: true, pins: ["\#(Self.pin)"]"#) == [])
      #expect(problems("pinsRequired: false") == [] && problems("") == [])
    }
  }

  @Test("A requirement of pins is met by plain http, which has no certificate")
  func plainHTTP() {
    let loopback = "development: { plainHTTPOnLoopback: true }"
    let tls = #"tls: { pinsRequired: true, pins: ["\#(Self.pin)"] }"#
    let resource = #"resources: { a: { baseUrl: "http://127.0.0.1:1", auth: none, \#(tls) } }"#
    #expect(
      Self.problems(resource, loopback) == [
        "resources.a.baseUrl: plain http has no certificate, and tls.pinsRequired is set"
      ])
    // Would catch a redirect, or a token, that goes where no pin is looked at.
    let origins = #"additionalOrigins: ["https://b.example", "http://127.0.0.1:2"]"#
    #expect(
      Self.problems(#"resources: { a: { baseUrl: "https://a.example", auth: none, \#(origins), \#(tls) } }"#, loopback)
        == [
          "resources.a.additionalOrigins: plain http has no certificate, and tls.pinsRequired is set"
        ])
    let others = [
      #"issuers: { b: { issuer: "http://127.0.0.1:3", \#(tls) } }"#,
      #"preauthorization: { c: { kind: authzen, baseUrl: "http://127.0.0.1:4", \#(tls) } }"#,
      #"validation: { jwksOrigins: ["http://127.0.0.1:5"], \#(tls) }"#,
    ].joined(separator: "\n")
    #expect(
      Self.problems(others, loopback) == [
        "issuers.b.issuer: plain http has no certificate, and tls.pinsRequired is set",
        "preauthorization.c.baseUrl: plain http has no certificate, and tls.pinsRequired is set",
        "validation.jwksOrigins: plain http has no certificate, and tls.pinsRequired is set",
      ])
    #expect(
      Self.problems(loopback, Self.everywhere) == [
        "development.plainHTTPOnLoopback: plain http has no certificate, and hardening.pinsRequired is set"
      ])
  }

  @Test("With pins required everywhere a server without pins is left out of the list of problems")
  func everywhere() {
    let servers = [
      #"issuers: { a: { issuer: "https://a.example" }, b: { issuer: "https://b.example", \#(Self.pins) } }"#,
      #"resources: { c: { baseUrl: "https://c.example", auth: none } }"#,
      #"preauthorization: { d: { kind: authzen, baseUrl: "https://d.example" } }"#,
      #"validation: { jwksOrigins: ["https://e.example"] }"#,
    ].joined(separator: "\n")
    #expect(Self.problems(servers) == [])
    #expect(
      Self.problems(servers, Self.everywhere) == [
        "issuers.a.tls.pins: is missing: hardening.pinsRequired is set",
        "preauthorization.d.tls.pins: is missing: hardening.pinsRequired is set",
        "resources.c.tls.pins: is missing: hardening.pinsRequired is set",
        "validation.tls.pins: is missing: hardening.pinsRequired is set",
      ])
    #expect(
      Self.problems(#"validation: { jwksOrigins: ["https://e.example"], \#(Self.pins) }"#, Self.everywhere) == [])
  }
}
