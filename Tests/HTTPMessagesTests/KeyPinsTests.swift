import HTTPMessages
import Testing

@Suite("KeyPins")
struct KeyPinsTests {
  @Test(
    "what is no pin makes none of them count",
    arguments: [
      [], [""], ["sha256/"], ["sha256/AAAA"], ["sha1/AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA="],
      ["sha256/AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA=", "x"],
    ])
  func malformed(pins: [String]) { #expect(KeyPins(pins, scope: .chain) == nil) }

  @Test("a pin is the hash it says")
  func read() {
    let pins = KeyPins(["sha256/AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA="], scope: .leaf)
    #expect(pins?.hashes == [[UInt8](repeating: 0, count: 32)])
    #expect(pins?.scope == .leaf)
  }
}
