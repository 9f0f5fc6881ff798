import HTTPMessages
import Testing

@Suite("KeyPins")
struct KeyPinsTests {
  @Test(
    "what is no pin throws, and the error names it: pins that are lost in silence would let any key through",
    arguments: [
      ([], nil), ([""], ""), (["sha256/"], "sha256/"), (["sha256/AAAA"], "sha256/AAAA"),
      (["sha256/AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA=", "x"], "x"),
      (
        ["sha1/AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA="], "sha1/AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA="
      ),
      (
        ["SHA256/AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA="],
        "SHA256/AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA="
      ),
    ] as [([String], String?)])
  func malformed(pins: [String], named: String?) throws {
    let error = try #require(throws: KeyPinsError.self) { try KeyPins(pins, scope: .chain) }
    #expect(error.pin == named)
    #expect(error.description.contains(named.map { String(reflecting: $0) } ?? "is empty"))
  }

  @Test("a long or unprintable text is shown cut and escaped")
  func shown() {
    let error = KeyPinsError(pin: "\u{1B}[2J" + String(repeating: "x", count: 10_000))
    #expect(error.description.utf8.count < 300 && !error.description.contains("\u{1B}"))
  }

  @Test("a pin has the hash that its text encodes")
  func read() throws {
    let pins = try KeyPins(["sha256/AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA="], scope: .leaf)
    #expect(pins.hashes == [[UInt8](repeating: 0, count: 32)])
    #expect(pins.scope == .leaf)
  }
}
