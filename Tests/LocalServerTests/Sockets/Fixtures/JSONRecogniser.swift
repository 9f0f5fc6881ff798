/// RFC 8259 once more, written the other way (recursive descent over the whole text): the reference for the scanner.
struct JSONRecogniser {
  enum Verdict: Hashable {
    case incomplete
    case complete(end: Int)
    case malformed(at: Int)
  }

  private enum Stop: Error {
    case end
    case wrong(Int)
  }

  private let bytes: [UInt8]
  private let maximumDepth: Int
  private var index = 0

  static func verdict(_ bytes: [UInt8], maximumDepth: Int = 128) -> Verdict {
    var recogniser = JSONRecogniser(bytes: bytes, maximumDepth: maximumDepth)
    do throws(Stop) {
      guard "{[".utf8.contains(try recogniser.peek()) else { return .malformed(at: 0) }
      try recogniser.value(depth: 0)
      return .complete(end: recogniser.index)
    } catch {
      switch error {
      case .end: return .incomplete
      case .wrong(let index): return .malformed(at: index)
      }
    }
  }

  private init(bytes: [UInt8], maximumDepth: Int) {
    self.bytes = bytes
    self.maximumDepth = maximumDepth
  }

  private func peek() throws(Stop) -> UInt8 {
    guard index < bytes.count else { throw .end }
    return bytes[index]
  }

  private mutating func expect(_ allowed: String) throws(Stop) {
    guard allowed.utf8.contains(try peek()) else { throw .wrong(index) }
    index += 1
  }

  private mutating func blanks() throws(Stop) {
    while " \t\r\n".utf8.contains(try peek()) { index += 1 }
  }

  private mutating func value(depth: Int) throws(Stop) {
    switch try peek() {
    case UInt8(ascii: "{"): try container(depth: depth, close: "}", isObject: true)
    case UInt8(ascii: "["): try container(depth: depth, close: "]", isObject: false)
    case UInt8(ascii: "\""): try string()
    case UInt8(ascii: "t"): for letter in "true" { try expect(String(letter)) }
    case UInt8(ascii: "f"): for letter in "false" { try expect(String(letter)) }
    case UInt8(ascii: "n"): for letter in "null" { try expect(String(letter)) }
    case UInt8(ascii: "-"), UInt8(ascii: "0")...UInt8(ascii: "9"): try number()
    default: throw .wrong(index)
    }
  }

  private mutating func container(depth: Int, close: String, isObject: Bool) throws(Stop) {
    guard depth < maximumDepth else { throw .wrong(index) }
    index += 1
    try blanks()
    if close.utf8.contains(try peek()) {
      index += 1
      return
    }
    while true {
      if isObject {
        try string()
        try blanks()
        try expect(":")
        try blanks()
      }
      try value(depth: depth + 1)
      try blanks()
      if close.utf8.contains(try peek()) {
        index += 1
        return
      }
      try expect(",")
      try blanks()
    }
  }

  private mutating func string() throws(Stop) {
    try expect("\"")
    while try peek() != UInt8(ascii: "\"") {
      guard try peek() >= 0x20 else { throw .wrong(index) }
      if try peek() == UInt8(ascii: "\\") {
        index += 1
        let letter = try peek()
        try expect("\"\\/bfnrtu")
        if letter == UInt8(ascii: "u") {
          for _ in 0..<4 { try expect("0123456789abcdefABCDEF") }
        }
      } else {
        index += 1
      }
    }
    index += 1
  }

  private mutating func digits() throws(Stop) {
    try expect("0123456789")
    while "0123456789".utf8.contains(try peek()) { index += 1 }
  }

  private mutating func number() throws(Stop) {
    if try peek() == UInt8(ascii: "-") { index += 1 }
    if try peek() == UInt8(ascii: "0") {
      index += 1
      // A digit behind a leading zero is the wrong byte.
      if "0123456789".utf8.contains(try peek()) { throw .wrong(index) }
    } else {
      try digits()
    }
    if try peek() == UInt8(ascii: ".") {
      index += 1
      try digits()
    }
    if "eE".utf8.contains(try peek()) {
      index += 1
      if "+-".utf8.contains(try peek()) { index += 1 }
      try digits()
    }
  }
}
