import Testing

@testable import HTTPMessages

extension FieldOctets {
  fileprivate static func text(_ bytes: [UInt8]) -> String { bytes.withUnsafeBufferPointer { text($0) } }
}

@Suite("Field values are bytes")
struct FieldOctetsTests {
  static let values: [[UInt8]] = [
    [], Array("plain".utf8), Array("Müller".utf8), Array("Jos".utf8) + [0xE9], [0x80, 0xFF], [0xC3, 0x28],
    [0xC3, 0xA9, 0xE9], [0xED, 0xA0, 0x80], [0xC0, 0xAE], Array("\u{10FF80}".utf8), Array("a\u{10FFFF}b".utf8),
    Array("\u{10FF7F}".utf8), Array("😀".utf8) + [0xFE],
  ]

  // Catches a cookie or a name that another byte arrives for.
  @Test("A value arrives with other bytes than it came with", arguments: values)
  func roundTrip(bytes: [UInt8]) {
    #expect(FieldOctets.bytes(FieldOctets.text(bytes)) == bytes)
  }

  // Catches UTF-8 that reports and results show as private characters.
  @Test("What is UTF-8 is another text than that")
  func readable() {
    #expect(FieldOctets.text(Array("Müller".utf8)) == "Müller")
    #expect(!FieldOctets.standsForBytes("Müller 😀"))
    #expect(FieldOctets.standsForBytes(FieldOctets.text([0x61, 0xFC])))
  }

  // Catches a rule about cookies that bytes beyond ASCII hide a name from.
  @Test("A reserved cookie behind a byte that servers take for white space is not seen", arguments: [0x85, 0xA0, 0xFF])
  func reserved(byte: UInt8) {
    let cookies = ReservedCookies(["amSession"])
    let pair = FieldOctets.text([byte] + Array("amSession=1".utf8))
    #expect(cookies.occur(in: pair))
    #expect(cookies.removed(from: "a=1;\(pair)") == "a=1")
  }

  @Test("A value with such bytes is no value, or one with a control character is")
  func syntax() {
    #expect(HTTPFieldRules.isValue(FieldOctets.text([0x80, 0xFF])))
    #expect(!HTTPFieldRules.isValue(FieldOctets.text([0x80, 0x0A])))
  }
}
