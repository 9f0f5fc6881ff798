import PosternConfiguration
import Testing

@Suite("The device of adobe-pass")
struct DeviceInformationTests {
  private static func fixture(_ keys: String) -> Fixture {
    Fixture(
      """
      preauthorization:
        p: { kind: adobe-pass, baseUrl: "https://b.example", serviceProvider: a, mvpd: b, softwareStatementFile: /s, \
      deviceIdFile: /d, \(keys) }
      """, files: ["/s": "statement"])
  }

  @Test(
    "values outside of the closed sets are rejected, with the one that is meant",
    arguments: [
      ("deviceInfo: { osName: linux }", "osName: must be one of", "did you mean Linux?"),
      ("deviceInfo: { primaryHardwareType: Toaster }", "primaryHardwareType: must be one of Camera", "Unknown"),
      ("deviceInfo: { osFamily: BDS }", "osFamily: must be one of", "did you mean BSD?"),
      ("deviceInfo: { model: \(String(repeating: "x", count: 257)) }", "model: must be at most 256 bytes", ""),
      ("deviceInfo: [a]", "deviceInfo: must be a section", ""),
    ])
  func problems(keys: String, beginning: String, end: String) {
    let problems = Self.fixture(keys).problems
    #expect(problems.count == 1)
    #expect(problems.first?.contains(beginning) == true && problems.first?.contains(end) == true, "\(problems)")
  }

  @Test("an unknown member is accepted with a warning, and so are credentials without an effect")
  func warnings() throws {
    let fixture = Self.fixture("deviceInfo: { modle: x, newerMember: y, vendor: z }, credentials: { bearer: none }")
    #expect(fixture.problems == [])
    let warnings = fixture.warnings
    #expect(warnings.count == 3)
    #expect(warnings.contains { $0.contains("deviceInfo.modle") && $0.contains("did you mean model?") })
    #expect(warnings.contains { $0.contains("credentials do nothing here") })
    #expect(try fixture.configuration().preauthorization["p"]?.adobePass.deviceInfo.count == 3)
  }

  @Test("ids are one segment of the path", arguments: [".", "..", String(repeating: "x", count: 129)])
  func identifiers(mvpd: String) {
    let yaml = """
      preauthorization:
        p: { kind: adobe-pass, baseUrl: "https://b.example", serviceProvider: a, mvpd: \(mvpd), softwareStatementFile: /s, \
      deviceIdFile: /d }
      """
    #expect(Fixture(yaml, files: ["/s": "x"]).problems.first?.contains("mvpd: must be an id") == true)
  }
}
