import HTTPMessages

/// Permission bits in octal, with what they have to be at least.
package struct PermissionBits: Sendable {
  /// The bits of a file.
  package static let file = PermissionBits(digits: 3...3, example: "0660", minimum: 0o600)
  /// The bits of a directory.
  package static let directory = PermissionBits(digits: 3...4, example: "2770", minimum: 0o700)

  /// How many digits there may be, the leading zero not counted.
  package let digits: ClosedRange<Int>
  package let example: String
  /// Bits that must be set.
  package let minimum: UInt32

  /// The regular expression of the texts that are accepted.
  package var pattern: String {
    "^0?o?[0-7]{\(Set([digits.lowerBound, digits.upperBound]).sorted().map(String.init).joined(separator: ","))}$"
  }

  /// Reads the bits.
  package func parse(_ scalar: SourceScalar) throws(ValueProblem) -> UInt32 {
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

/// `host:port` on an address of this machine, as written in the configuration.
package enum ListenAddress {
  /// Throws what is wrong with `text`.
  package static func validate(_ text: String) throws(ValueProblem) {
    guard let colon = text.utf8.lastIndex(of: UInt8(ascii: ":")) else {
      throw ValueProblem("must be host:port, as in 127.0.0.1:9464")
    }
    let port = text[text.index(after: colon)...]
    let host = String(text[..<colon])
    guard port.utf8.count <= 5, port.utf8.allSatisfy({ (0x30...0x39).contains($0) }), UInt16(port) != nil else {
      throw ValueProblem("must be host:port, as in 127.0.0.1:9464; a port is 0 to 65535")
    }
    guard host == "localhost" || isAddress(host) else {
      throw ValueProblem("must be an address and a port: 127.0.0.1, [::1] or localhost; no name is looked up")
    }
  }

  /// Whether `host` is an address: IPv6 with brackets or without.
  private static func isAddress(_ host: String) -> Bool {
    host.hasPrefix("[") ? (try? HTTPHost.canonical(ArraySlice(host.utf8))) != nil : IPAddress(host) != nil
  }
}

/// The SHA-256 of a public key in the form of RFC 7469 section 2.4.
package enum PublicKeyPin {
  /// Throws what is wrong with `text`.
  package static func validate(_ text: String) throws(ValueProblem) {
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
