import PosternYAML

/// Permission bits in octal, with what they have to be at least.
struct PermissionBits: Sendable {
  /// The bits of a file.
  static let file = PermissionBits(digits: 3...3, example: "0660", minimum: 0o600)
  /// The bits of a directory.
  static let directory = PermissionBits(digits: 3...4, example: "2770", minimum: 0o700)

  /// How many digits there may be, the leading zero not counted.
  let digits: ClosedRange<Int>
  let example: String
  /// Bits that must be set.
  let minimum: UInt32

  /// The regular expression of the texts that are accepted.
  var pattern: String {
    "^0?o?[0-7]{\(Set([digits.lowerBound, digits.upperBound]).sorted().map(String.init).joined(separator: ","))}$"
  }

  /// Reads the bits.
  func parse(_ scalar: SourceScalar) throws(ValueProblem) -> UInt32 {
    var text = scalar.text[...]
    let isMarked = text.hasPrefix("0") && text.count > 1
    if isMarked { text = text.dropFirst(text.hasPrefix("0o") ? 2 : 1) }
    guard isMarked || scalar.style != .plain else {
      throw ValueProblem("write the mode in octal with a leading zero, as in \"\(example)\"")
    }
    guard digits.contains(text.count), text.utf8.allSatisfy({ (0x30...0x37).contains($0) }),
      let mode = UInt32(text, radix: 8)
    else {
      let count = digits.upperBound == 3 ? "three" : "three or four"
      throw ValueProblem("must be \(count) octal digits with a leading zero, as in \"\(example)\"")
    }
    guard mode & minimum == minimum else {
      let rights = minimum == 0o600 ? "read and write" : "read, write and enter"
      throw ValueProblem("the owner must be able to \(rights): \"0\(String(minimum, radix: 8))\" at least")
    }
    return mode
  }
}
