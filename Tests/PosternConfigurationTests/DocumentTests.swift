import PosternJSON
import Testing

@testable import PosternConfiguration

@Suite("The documents that follow from the schema")
struct DocumentTests {
  private static func fixture(_ yaml: String) -> Fixture {
    var fixture = Fixture(yaml)
    fixture.hasAllFiles = true
    fixture.files["/run/secrets/collector-headers"] = ConfigurationFile(bytes: Array("Authorization: secret\n".utf8))
    return fixture
  }

  @Test("The annotated example loads unchanged, without problems and without warnings")
  func example() {
    let fixture = Self.fixture(ConfigurationSchema.annotatedExample())
    #expect(fixture.problems == [])
    #expect(fixture.warnings == [])
  }

  @Test(
    "With every key switched on the annotated example has only the conflicts that are meant: no unknown key, no wrong value"
  )
  func completeExample() {
    let lines = ConfigurationSchema.annotatedExample().split(separator: "\n", omittingEmptySubsequences: false).map {
      line in
      let indent = line.prefix { $0 == " " }
      let rest = line.dropFirst(indent.count)
      let isKey = rest.dropFirst().first.map { $0.isLetter || $0 == "-" } ?? false
      return rest.hasPrefix("#") && isKey ? indent + rest.dropFirst() : line
    }
    let fixture = Self.fixture(lines.joined(separator: "\n"))
    let meant = [
      "give either bearer or tokenFile", "give either ssoTokenFile or usernameFile and passwordFile",
      "give only one of gid, group", "give only one of header, query, basic", "goes with auth: credential only",
      "goes with auth: onBehalfOf only", "has no effect without jwksOrigins",
      "has no effect without an https proxy: the authorities of servers are in tls.caFile",
    ]
    let problems = fixture.problems.filter { problem in !meant.contains { problem.hasSuffix($0) } }
    #expect(problems == [])
  }

  @Test("Every key of the schema is in the annotated example, or is another way of giving a secret")
  func everyKeyShown() {
    func visit(_ section: SectionSpecification) {
      for key in section.keys {
        switch key.form {
        case .section(let keys), .sections(let keys), .map(let keys, _): visit(keys)
        case .value, .list, .texts:
          let isOtherWay = key.secretName.map { key.name != "\($0)File" } ?? false
          #expect((key.example == nil) == isOtherWay, "\(key.name)")
        }
        #expect(
          !key.documentation.isEmpty && key.documentation.hasSuffix(".") || key.documentation.hasSuffix("…"),
          "\(key.name)")
      }
    }
    visit(ConfigurationSchema.root)
  }

  @Test("The JSON Schema closes every section, so that editors find unknown keys")
  func closed() {
    func visit(_ schema: JSONValue) {
      if schema["properties"] != nil { #expect(schema["additionalProperties"] == false) }
      for member in schema.objectValue?.members ?? [] { visit(member.value) }
    }
    let schema = ConfigurationSchema.jsonSchema()
    visit(schema)
    #expect(schema["$schema"] == "https://json-schema.org/draft/2020-12/schema")
    #expect(schema["properties"]?["limits"]?["properties"]?["depth"]?["maximum"] == 512)
    #expect(schema["properties"]?["limits"]?["properties"]?["depth"]?["default"] == 128)
    #expect(schema["properties"]?["issuers"]?["additionalProperties"]?["required"] == ["issuer"])
  }

  @Test(
    "The files in proto-docs/ are what the code generates",
    arguments: [("configuration.schema.json", true), ("postern.example.yaml", false)])
  func files(name: String, isSchema: Bool) throws {
    let root = #filePath.split(separator: "/").dropLast(3).joined(separator: "/")
    let file = try SystemFiles.read("/\(root)/proto-docs/\(name)", limit: 1 << 20).get()
    let generated =
      isSchema
      ? JSONWriter(pretty: true).string(ConfigurationSchema.jsonSchema()) + "\n"
      : ConfigurationSchema.annotatedExample()
    #expect(String(decoding: file.bytes, as: UTF8.self) == generated)
  }

  @Test("The defaults in the schema are the defaults of the values: written out they load to the same configuration")
  func defaultsWrittenOut() throws {
    var keys = ConfigurationSchema.root
    keys.keys.removeAll { key in if case .section = key.form { false } else { true } }
    #expect(try Self.fixture(section(keys)).configuration() == PosternConfiguration())
  }

  private func section(_ section: SectionSpecification) -> String {
    let members = section.keys.compactMap { key -> String? in
      switch key.form {
      case .value, .list: key.defaultValue.map { "\(key.name): \(ExampleWriter.flow($0))" }
      case .section(let keys) where !key.isCommentedSection: "\(key.name): \(self.section(keys))"
      default: nil
      }
    }
    return "{ \(members.joined(separator: ", ")) }"
  }
}
