/// The SHA-256 of a public key in the form of RFC 7469 section 2.4.
enum PublicKeyPin {
  /// Throws what is wrong with `text`.
  static func validate(_ text: String) throws(ValueProblem) {
    let digits = Array(text.utf8.dropFirst(7))
    let isBase64 = digits.dropLast().allSatisfy { digit in
      switch digit {
      case 0x41...0x5A, 0x61...0x7A, 0x30...0x39, UInt8(ascii: "+"), UInt8(ascii: "/"): true
      default: false
      }
    }
    // Of the last digit before the padding only four bits are used.
    let endsCleanly = digits.count == 44 && "AEIMQUYcgkosw048".utf8.contains(digits[42])
    guard text.hasPrefix("sha256/"), isBase64, endsCleanly, digits.last == UInt8(ascii: "=") else {
      throw ValueProblem("must be sha256/ and the base64 of 32 bytes, 44 characters with one = at the end")
    }
  }
}
