import PosternTestSupport
import Testing

@testable import PosternConfiguration

@Suite("Hostile and broken YAML")
struct HostileYAMLTests {
  @Test(
    "Text that is not one YAML document is a problem with its location",
    arguments: [
      (
        "log: [json\n",
        "2:1: not YAML: did not find expected ',' or ']' (while parsing a flow sequence, begun in line 1)"
      ),
      ("log:\n\tlevel: info\n", "2:1: tabs cannot indent YAML; use spaces"),
      ("log: {}\n---\nlog: {}\n", "2:1: a second YAML document begins here; a configuration is one document"),
      ("log: {}\n...\nlog: {}\n", "3:1: a second YAML document begins here; a configuration is one document"),
      ("log: \"a\n", "2:1: not YAML: found unexpected end of stream (while scanning a quoted scalar, begun in line 1)"),
      ("a: b: c\n", "1:5: not YAML: mapping values are not allowed in this context"),
      (
        "log: @x\n",
        "1:6: not YAML: found character that cannot start any token (while scanning for the next token, begun in line 1)"
      ),
      (
        "log: \"\\q\"\n",
        "1:7: not YAML: found unknown escape character (while parsing a quoted scalar, begun in line 1)"
      ),
      (
        "log: *\n",
        "1:7: not YAML: did not find expected alphabetic or numeric character (while scanning an alias, begun in line 1)"
      ),
    ])
  func broken(yaml: String, problem: String) {
    #expect(Fixture(yaml).problems == [problem])
  }

  @Test(
    "Bytes that are no text are a problem with their location",
    arguments: [
      ([0x61, 0x3A, 0x20, 0xFF], "1:4: this is not UTF-8 text"),
      ([0x61, 0x0A, 0xC3, 0x28], "2:1: this is not UTF-8 text"),
      ([0x61, 0x00, 0x62], "1:2: control characters are not allowed"),
      ([0x61, 0x0D, 0x0A, 0x1B], "2:1: control characters are not allowed"),
      ([0x7F, 0x45, 0x4C, 0x46], "1:1: control characters are not allowed"),
      ([0xFF, 0xFE, 0x61, 0x00], "1:1: this is not UTF-8 text"),
      ([0xED, 0xA0, 0x80], "1:1: this is not UTF-8 text"),
      ([0x61, 0xEF, 0xBB, 0xBF], "1:2: control characters are not allowed"),
    ] as [([UInt8], String)])
  func binary(bytes: [UInt8], problem: String) {
    var fixture = Fixture("")
    fixture.bytes = bytes
    #expect(fixture.problems == [problem])
  }

  @Test("A byte order mark at the beginning is ignored, and shifts no column")
  func byteOrderMark() throws {
    #expect(try Fixture("\u{FEFF}limits: { depth: 7 }").configuration().limits.depth == 7)
    #expect(Fixture("\u{FEFF}limit: {}").problems == ["1:1: limit: unknown key; did you mean limits?"])
  }

  @Test("Lines count the same with LF, CR LF and CR", arguments: ["\n", "\r\n", "\r"])
  func lineEnds(end: String) {
    #expect(Fixture("log: {}\(end)\(end)limit: {}\(end)").problems == ["3:1: limit: unknown key; did you mean limits?"])
    #expect(Fixture("log: {}\(end)\(end)\u{1}").problems == ["3:1: control characters are not allowed"])
  }

  @Test("A file over 1 MiB is rejected without being parsed; one of exactly 1 MiB is read")
  func huge() throws {
    let line = Array("limits: { depth: 5 }\n#".utf8)
    var fixture = Fixture("")
    fixture.bytes = line + [UInt8](repeating: 0x78, count: (1 << 20) - line.count)
    #expect(try fixture.configuration().limits.depth == 5)
    fixture.bytes.append(0x78)
    #expect(fixture.problems == [" the file is larger than 1 MiB"])
  }

  @Test(
    "Deep nesting is a problem, not a stack overflow",
    arguments: [
      String(repeating: "[", count: 100_000), String(repeating: "{a: ", count: 100_000),
      String(repeating: "- ", count: 100_000),
      String(repeating: "? ", count: 100_000),
      "log: " + String(repeating: "[", count: 100) + String(repeating: "]", count: 100),
      String(repeating: "{", count: 900) + String(repeating: "}: a", count: 900),
    ])
  func deep(yaml: String) {
    #expect(Fixture(yaml).problems.count == 1)
  }

  @Test("Too deep a document is a problem in our words, not the parser's")
  func deepMessage() {
    #expect(
      Fixture(String(repeating: "- ", count: 5000)).problems.first?.hasSuffix("nested deeper than 64 levels") == true)
    #expect(
      Fixture("log: " + String(repeating: "[", count: 70) + String(repeating: "]", count: 70)).problems.first?
        .hasSuffix("nested deeper than 64 levels") == true)
  }

  @Test("A bomb of nested aliases costs nothing and is rejected")
  func aliasBomb() {
    var yaml = "a: &a0 [x, x]\n"
    for level in 1...60 { yaml += "a\(level): &a\(level) [*a\(level - 1), *a\(level - 1)]\n" }
    let problems = Fixture(yaml).problems
    #expect(problems.count == 1)
    #expect(problems.first?.hasSuffix("more than 100000 values, aliases expanded") == true)
  }

  @Test("A bomb as a key, which the parser would hash, costs nothing either")
  func aliasBombAsKey() {
    var yaml = "a0: &a0 [x, x]\n"
    for level in 1...60 { yaml += "a\(level): &a\(level) [*a\(level - 1), *a\(level - 1)]\n" }
    #expect(!Fixture(yaml + "? *a60\n: x\n").problems.isEmpty)
    #expect(!Fixture("? &a [x, x]\n: 1\n? [*a, *a]\n: 2\n").problems.isEmpty)
    #expect(Fixture("a: &k b\n*k : 1\n").problems.contains("2:1: a key must be a plain name"))
  }

  @Test("Aliases and merge keys share what is common")
  func aliases() throws {
    let yaml = """
      resources:
        one: &one
          baseUrl: https://one.example
          auth: none
          timeout: &timeout 5s
          advice: { enabled: false }
        two:
          <<: *one
          baseUrl: https://two.example
        three: { <<: [*one], timeout: 7s }
        four: { baseUrl: "https://four.example", auth: none, timeout: *timeout }
      """
    let resources = try Fixture(yaml).configuration().resources
    #expect(resources["two"]?.locations.baseURL == "https://two.example")
    #expect(resources["two"]?.bounds.timeout == .seconds(5))
    #expect(try #require(resources["two"]).advice == nil)
    #expect(resources["three"]?.bounds.timeout == .seconds(7))
    #expect(resources["four"]?.bounds.timeout == .seconds(5))
  }

  @Test(
    "Aliases that lead nowhere or into themselves are problems",
    arguments: [
      ("log: *gone\n", "1:6: log: there is no anchor \"&gone\" before this alias"),
      ("log: &a { level: *a }\n", "1:18: log.level: there is no anchor \"&a\" before this alias"),
      ("log: { <<: info }\n", "1:12: log.\"<<\": `<<` merges sections of keys only"),
      ("limits: { <<: *gone, depth: 5 }\n", "1:15: limits.\"<<\": there is no anchor \"&gone\" before this alias"),
    ])
  func badAliases(yaml: String, problem: String) {
    #expect(Fixture(yaml).problems.first == problem)
  }

  @Test("A star in a text is a star, not an alias")
  func stars() throws {
    let yaml = """
      peers:
        - { uid: 1, methods: ["*"] }   # *not an alias*
      issuers:
        a: { issuer: "https://a.example", clientId: "*a", scope: a *b **c }
        b:
          issuer: https://b.example
          clientId: |-
            *x
      """
    let configuration = try Fixture(yaml).configuration()
    #expect(configuration.issuers["a"]?.clientID == "*a")
    #expect(configuration.issuers["a"]?.scope == "a *b **c")
    #expect(configuration.issuers["b"]?.clientID == "*x")
  }

  @Test(
    "A duplicate key is a problem however it is written, with the location of the second",
    arguments: [
      ("log: {}\nlog: {}\n", ["2:1: log: given more than once (first in line 1)"]),
      ("log: {}\n\"log\": {}\n", ["2:1: log: given more than once (first in line 1)"]),
      ("{\"log\": {}, \"l\\u006fg\": {}}", ["1:13: log: given more than once (first in line 1)"]),
      (
        "limits: { depth: 1, depth: 2, depth: 3 }\n",
        [
          "1:21: limits.depth: given more than once (first in line 1)",
          "1:31: limits.depth: given more than once (first in line 1)",
        ]
      ),
      (
        "log:\n  level: info\n  level: info\nlimits:\n  depth: 5\n  batch: 5\n  depth: 5\n",
        [
          "3:3: log.level: given more than once (first in line 2)",
          "7:3: limits.depth: given more than once (first in line 5)",
        ]
      ),
      (
        "issuers: { \"1\": { issuer: \"https://a.example\" }, 1: { issuer: \"https://a.example\" } }",
        [
          "1:50: issuers.1: given more than once (first in line 1)"
        ]
      ),
      ("\"\": 1\n\"\": 2\n", ["1:1: \"\": unknown key", "2:1: \"\": given more than once (first in line 1)"]),
      ("[a]: 1\n[a]: 2\n", ["1:1: a key must be a plain name", "2:1: a key must be a plain name"]),
    ] as [(String, [String])])
  func repeatedKeys(yaml: String, problems: [String]) {
    #expect(Fixture(yaml).problems == problems)
  }

  @Test("A file of nothing but mistakes reports the first two hundred, and how many there are")
  func manyProblems() {
    let problems = Fixture((0..<20_000).map { "key\($0): 1\n" }.joined()).problems
    #expect(problems.count == 201)
    #expect(problems.first == "1:1: key0: unknown key")
    #expect(problems.last == " and 19800 more problems")
  }

  @Test("A thousand repeated keys end in a problem, soon")
  func manyRepeatedKeys() {
    let yaml = (0..<1000).map { "a\($0): 1\na\($0): 2\n" }.joined()
    #expect(!Fixture(yaml).problems.isEmpty)
  }

  @Test(
    "Tags are rejected, except the one for text",
    arguments: [("!!binary aGk=", false), ("!mine x", false), ("!!int \"5\"", false), ("!!str 5", true), ("! 5", true)])
  func tags(value: String, isGood: Bool) {
    let yaml = "issuers: { a: { issuer: \"https://a.example\", clientId: \(value) } }"
    #expect(Fixture(yaml).problems == (isGood ? [] : ["1:56: issuers.a.clientId: YAML tags are not supported here"]))
  }

  @Test("A key that is not a name is a problem", arguments: ["? [a]\n: b\n", "? { a: b }\n: c\n", "{ [a]: b }\n"])
  func complexKeys(yaml: String) {
    #expect(Fixture(yaml).problems.count == 1)
    #expect(Fixture(yaml).problems.first?.hasSuffix("a key must be a plain name") == true)
  }

  @Test("Every prefix of a good configuration either loads or is a problem: nothing traps")
  func prefixes() {
    let bytes = Array(ContractExample.yaml.utf8)
    for length in stride(from: 0, to: bytes.count, by: 61) {
      var fixture = Fixture("")
      fixture.hasAllFiles = true
      fixture.bytes = Array(bytes[..<length])
      if case .failure(let problems) = fixture.load() { #expect(!problems.problems.isEmpty) }
    }
  }

  @Test("Every byte of a good configuration may be any other: nothing traps")
  func mutations() {
    var generator = SeededGenerator(seed: 7)
    let bytes = Array(ContractExample.yaml.utf8)
    for _ in 0..<150 {
      var fixture = Fixture("")
      fixture.hasAllFiles = true
      fixture.bytes = bytes
      for _ in 0..<Int.random(in: 1...6, using: &generator) {
        let replacement = Array("[]{}:,*&!|>'\"%@`#-?\n\t 0a\u{7F}".utf8).randomElement(using: &generator) ?? 0
        fixture.bytes[Int.random(in: 0..<bytes.count, using: &generator)] = replacement
      }
      if case .failure(let problems) = fixture.load() { #expect(!problems.problems.isEmpty) }
    }
  }
}
