import AuthEngine
import PosternConfiguration
import Testing

@Suite("Values: durations, sizes, modes, numbers, texts")
struct ValueTests {
  private static func resource(_ key: String, _ value: String) -> Fixture {
    Fixture("resources: { a: { baseUrl: \"https://a.example\", auth: none, \(key): \(value) } }")
  }

  @Test(
    "A duration is a whole number with its unit",
    arguments: [
      ("250ms", Duration.milliseconds(250)), ("30s", .seconds(30)), ("5m", .seconds(300)), ("10m", .seconds(600)),
      ("\"1s\"", .seconds(1)), ("0010s", .seconds(10)),
    ])
  func duration(text: String, duration: Duration) throws {
    #expect(try Self.resource("timeout", text).configuration().resources["a"]?.bounds.timeout == duration)
  }

  @Test(
    "Days and hours work where they fit, and zero needs its unit like every other number",
    arguments: [("1d", Duration.seconds(86_400)), ("24h", .seconds(86_400)), ("0s", .zero), ("0ms", .zero)])
  func longDuration(text: String, duration: Duration) throws {
    let yaml = "issuers: { a: { issuer: \"https://a.example\", jwks: { staleIfError: \(text) } } }"
    #expect(try Fixture(yaml).configuration().issuers["a"]?.jwks.staleIfError == duration)
  }

  @Test(
    "A duration that could be misread is rejected, never guessed",
    arguments: [
      ("30", "a duration needs a unit: write 30s or 30ms (units: ms, s, m, h, d)"),
      ("0", "a duration needs a unit: write 0s or 0ms (units: ms, s, m, h, d)"),
      ("1.5s", "must be a whole number with a unit: 250ms, 30s, 5m, 1h or 1d"),
      ("-1s", "must be a whole number with a unit: 250ms, 30s, 5m, 1h or 1d"),
      ("1h30m", "must be a whole number with a unit: 250ms, 30s, 5m, 1h or 1d"),
      ("5 m", "must be a whole number with a unit: 250ms, 30s, 5m, 1h or 1d"),
      ("s", "must be a whole number with a unit: 250ms, 30s, 5m, 1h or 1d"),
      ("5min", "the unit must be one of ms, s, m, h, d"),
      ("5S", "the unit must be one of ms, s, m, h, d"),
      ("0s", "out of range: must be 1ms to 10m"),
      ("11m", "out of range: must be 1ms to 10m"),
      ("999999999999999999d", "out of range: must be 1ms to 10m"),
      ("9999999999999999999999999s", "must be a whole number with a unit: 250ms, 30s, 5m, 1h or 1d"),
      ("٣s", "must be a whole number with a unit: 250ms, 30s, 5m, 1h or 1d"),
      ("\"\"", "must be a whole number with a unit: 250ms, 30s, 5m, 1h or 1d"),
    ])
  func badDuration(text: String, message: String) {
    #expect(Self.resource("timeout", text).problems == ["1:70: resources.a.timeout: \(message)"])
  }

  @Test(
    "A size is bytes, or a number with a power of 1024",
    arguments: [
      ("4096", 4096), ("\"4096\"", 4096), ("4096B", 4096), ("64KiB", 65_536), ("16MiB", 16 << 20), ("1GiB", 1 << 30),
    ])
  func size(text: String, bytes: Int) throws {
    #expect(try Self.resource("maxBodyBytes", text).configuration().resources["a"]?.bounds.maxBodyBytes == bytes)
  }

  @Test(
    "Sizes in powers of 1000, fractions, signs and overflows are rejected",
    arguments: [
      ("16MB", "the unit must be one of B, KiB, MiB, GiB (powers of 1024)"),
      ("16mib", "the unit must be one of B, KiB, MiB, GiB (powers of 1024)"),
      ("1.5MiB", "must be a number of bytes, or one with a unit: 64KiB, 16MiB, 1GiB"),
      ("-1", "must be a number of bytes, or one with a unit: 64KiB, 16MiB, 1GiB"),
      ("0", "out of range: must be 1B to 1GiB"),
      ("2GiB", "out of range: must be 1B to 1GiB"),
      ("999999999999999999GiB", "out of range: must be 1B to 1GiB"),
    ])
  func badSize(text: String, message: String) {
    #expect(Self.resource("maxBodyBytes", text).problems == ["1:75: resources.a.maxBodyBytes: \(message)"])
  }

  @Test(
    "A mode is octal whether quoted or not, so that a bare 0660 is not read as a number",
    arguments: [
      ("\"0660\"", 0o660), ("'0660'", 0o660), ("0660", 0o660), ("0o660", 0o660), ("\"660\"", 0o660),
      ("\"0600\"", 0o600),
      ("0770", 0o770),
    ])
  func mode(text: String, mode: UInt32) throws {
    #expect(try Fixture("listen: { mode: \(text) }").configuration().listen.mode == mode)
  }

  @Test(
    "A mode that another YAML tool may have rewritten, or that locks the file's user out, is rejected",
    arguments: [
      ("660", "write the mode in octal with a leading zero, as in \"0660\""),
      ("432", "write the mode in octal with a leading zero, as in \"0660\""),
      ("\"0680\"", "must be three octal digits with a leading zero, as in \"0660\""),
      ("\"04660\"", "must be three octal digits with a leading zero, as in \"0660\""),
      ("\"rw-rw----\"", "must be three octal digits with a leading zero, as in \"0660\""),
      ("0", "write the mode in octal with a leading zero, as in \"0660\""),
      ("\"0060\"", "the owner must be able to read and write: \"0600\" at least"),
    ])
  func badMode(text: String, message: String) {
    #expect(Fixture("listen: { mode: \(text) }").problems == ["1:17: listen.mode: \(message)"])
  }

  @Test("A socket that everybody may connect to warns")
  func openMode() {
    #expect(
      Fixture("listen: { mode: \"0666\" }").warnings == [
        "1:17: listen.mode: every user of this machine can connect to the socket"
      ])
  }

  @Test(
    "Where a text is wanted the scalar's text is taken, whatever YAML would make of it",
    arguments: [
      "no", "on", "1.10", "0123", "2026-01-02", "1e3", "0x1F", "true", "off",
    ])
  func norway(text: String) throws {
    let yaml = "issuers: { a: { issuer: \"https://a.example\", clientId: \(text) } }"
    #expect(try Fixture(yaml).configuration().issuers["a"]?.clientID == text)
  }

  @Test("Nothing, ~ and null are no values: the key is to be left out", arguments: ["", "~", "null", "Null", "NULL"])
  func null(text: String) {
    let message = "log.level: has no value; leave the key out, or put the text in quotes"
    #expect(Fixture("log: { level: \(text) }").problems.map { String($0.drop { $0 != "l" }) } == [message])
  }

  @Test(
    "A section with nothing in it is its defaults",
    arguments: ["log:\n", "log: ~\nlimits: null\n", "issuers:\nresources: {}\n"])
  func emptySection(yaml: String) throws {
    #expect(try Fixture(yaml).configuration() == PosternConfiguration())
  }

  @Test(
    "Only true and false are booleans",
    arguments: [
      ("yes", "write true or false"), ("on", "write true or false"), ("1", "write true or false"),
      ("\"true\"", "write true or false without quotes"),
    ])
  func boolean(text: String, message: String) {
    #expect(Fixture("tokens: { leaveTheSidecar: \(text) }").problems == ["1:28: tokens.leaveTheSidecar: \(message)"])
  }

  @Test(
    "Numbers are plain decimal digits within their range",
    arguments: [
      ("0", "out of range: must be a whole number from 1 to 512"),
      ("513", "out of range: must be a whole number from 1 to 512"),
      ("99999999999999999999999", "out of range: must be a whole number from 1 to 512"),
      ("0x10", "must be a whole number from 1 to 512"),
      ("1_0", "must be a whole number from 1 to 512"),
      ("+5", "must be a whole number from 1 to 512"),
      ("1.0", "must be a whole number from 1 to 512"),
      ("\"12\"", "write the number without quotes"),
      ("[1]", "must be a single value, not a list"),
      ("{ a: 1 }", "must be a single value, not a section of keys"),
    ])
  func number(text: String, message: String) {
    #expect(Fixture("limits: { depth: \(text) }").problems == ["1:18: limits.depth: \(message)"])
  }

  @Test("The bounds themselves are within the range", arguments: [1, 512])
  func bounds(depth: Int) throws {
    #expect(try Fixture("limits: { depth: \(depth) }").configuration().limits.depth == depth)
  }

  @Test(
    "Something of another kind than the key wants is a problem, not a trap",
    arguments: [
      ("limits: 5\n", "1:9: limits: must be a section of keys, not a single value"),
      ("limits: [a]\n", "1:9: limits: must be a section of keys, not a list"),
      ("peers: { uid: 0 }\n", "1:8: peers: must be a list, not a section of keys"),
      ("peers: 5\n", "1:8: peers: must be a list, not a single value"),
      ("peers:\n", "1:7: peers: must be a list, not nothing"),
      ("peers: [5]\n", "1:9: peers[0]: must be a section of keys, not a single value"),
      ("issuers: [a]\n", "1:10: issuers: must be a section of names, not a list"),
      ("issuers: { a: 5 }\n", "1:15: issuers.a: must be a section of keys, not a single value"),
      (
        "validation: { jwksOrigins: https://a.example }\n",
        "1:28: validation.jwksOrigins: must be a list, not a single value"
      ),
      ("validation: { jwksOrigins: [[a]] }\n", "1:29: validation.jwksOrigins[0]: must be a single value, not a list"),
      ("- a\n", "1:1: must be a section of keys, not a list"),
      ("5\n", "1:1: must be a section of keys, not a single value"),
    ])
  func kinds(yaml: String, problem: String) {
    #expect(Fixture(yaml).problems == [problem])
  }

  @Test("A text with a line break or a control character is rejected")
  func controlCharacters() {
    #expect(
      Fixture("listen: { path: \"/a\\nb\" }").problems == [
        "1:17: listen.path: must not contain control characters or line breaks"
      ])
    #expect(
      Fixture("listen: { path: \"/a\\0b\" }").problems == [
        "1:17: listen.path: must not contain control characters or line breaks"
      ])
  }

  @Test(
    "A name of an issuer or resource is visible and of bounded length",
    arguments: ["\"\"", "\"a b\"", String(repeating: "x", count: 129)])
  func names(name: String) {
    let problems = Fixture("resources: { \(name): { baseUrl: \"https://a.example\", auth: none } }").problems
    #expect(problems.count == 1)
    #expect(problems.first?.contains("a name ") == true)
  }
}
