import PosternTestSupport

/// Random JSON texts, and random damage to them.
struct JSONGenerator {
  var numbers: SeededGenerator

  init(seed: UInt64) { numbers = SeededGenerator(seed: seed) }

  /// An object or array.
  mutating func text(depth: Int = 4) -> [UInt8] {
    chance(2) ? object(depth: depth) : array(depth: depth)
  }

  /// The bytes with one to three small wounds.
  mutating func damaged(_ bytes: [UInt8]) -> [UInt8] {
    var bytes = bytes
    for _ in 0..<Int.random(in: 1...3, using: &numbers) where !bytes.isEmpty {
      let index = Int.random(in: 0..<bytes.count, using: &numbers)
      switch Int.random(in: 0..<5, using: &numbers) {
      case 0: bytes[index] = UInt8.random(in: 0...255, using: &numbers)
      case 1: bytes.remove(at: index)
      case 2: bytes.insert(Array("{}[]\",:\\\n 0-.eE+utfn\u{0}".utf8).randomElement(using: &numbers) ?? 0, at: index)
      case 3: bytes.removeSubrange(index...)
      default: bytes.insert(bytes[Int.random(in: 0..<bytes.count, using: &numbers)], at: index)
      }
    }
    return bytes
  }

  /// The bytes in random pieces.
  mutating func pieces(_ bytes: [UInt8], upTo longest: Int = 12) -> [[UInt8]] {
    var pieces: [[UInt8]] = []
    var rest = bytes[...]
    while !rest.isEmpty {
      let piece = rest.prefix(Int.random(in: 1...longest, using: &numbers))
      pieces.append(Array(piece))
      rest = rest.dropFirst(piece.count)
    }
    return pieces
  }

  mutating func blank() -> [UInt8] {
    let blanks: [String] = ["", "", "", " ", "\n", "\t", "\r\n", "   "]
    return Array((blanks.randomElement(using: &numbers) ?? "").utf8)
  }

  private mutating func chance(_ sides: Int) -> Bool { Int.random(in: 0..<sides, using: &numbers) == 0 }

  private mutating func value(depth: Int) -> [UInt8] {
    if depth > 0, chance(3) { return text(depth: depth - 1) }
    if chance(3) { return string() }
    let scalars = ["0", "-0", "1", "-17", "3.25", "1e9", "-2.5E-3", "10E+2", "true", "false", "null"]
    return Array((scalars.randomElement(using: &numbers) ?? "0").utf8)
  }

  private mutating func string() -> [UInt8] {
    let pieces = [
      "", "a", "plain words of some length", "{", "}", "[", "]", ":", ",", "\\\"", "\\\\", "\\/", "\\b\\f\\n\\r\\t",
      "\\u00e9",
      "\\uD834\\uDD1E", "é", "🜚", "\u{2028}", "\u{7f}",
    ]
    let body = (0..<Int.random(in: 0...4, using: &numbers)).map { _ in pieces.randomElement(using: &numbers) ?? "" }
    return Array("\"\(body.joined())\"".utf8)
  }

  private mutating func object(depth: Int) -> [UInt8] {
    var bytes = Array("{".utf8) + blank()
    for index in 0..<Int.random(in: 0...4, using: &numbers) {
      if index > 0 { bytes += Array(",".utf8) + blank() }
      bytes += string() + blank() + Array(":".utf8) + blank() + value(depth: depth) + blank()
    }
    return bytes + Array("}".utf8)
  }

  private mutating func array(depth: Int) -> [UInt8] {
    var bytes = Array("[".utf8) + blank()
    for index in 0..<Int.random(in: 0...4, using: &numbers) {
      if index > 0 { bytes += Array(",".utf8) + blank() }
      bytes += value(depth: depth) + blank()
    }
    return bytes + Array("]".utf8)
  }
}
