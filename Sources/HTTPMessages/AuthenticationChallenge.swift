public import PosternSupport

/// One challenge of a `WWW-Authenticate` field (RFC 9110 section 11.3).
public struct AuthenticationChallenge: Sendable, Hashable {
  /// One parameter: `name=value`.
  public struct Parameter: Sendable, Hashable {
    /// The name in lower case.
    public let name: String
    /// The value, unquoted.
    public let value: String

    /// A parameter of `name` and `value`.
    public init(name: String, value: String) {
      self.name = name
      self.value = value
    }
  }

  /// The scheme as received; compare with `isScheme(_:)`.
  public let scheme: String
  /// The token68 after the scheme, when there is one instead of parameters.
  public let token68: String?
  /// The parameters in order.
  public let parameters: [Parameter]

  /// A challenge of the given parts.
  public init(scheme: String, token68: String? = nil, parameters: [Parameter] = []) {
    self.scheme = scheme
    self.token68 = token68
    self.parameters = parameters
  }

  /// Whether the scheme is `name`, compared without case.
  public func isScheme(_ name: String) -> Bool { scheme.hasSameASCIILetters(as: name) }

  /// The value of the first parameter `name` (lower case); a later one of the same name is ignored.
  public subscript(name: String) -> String? { parameters.first { $0.name.hasSameBytes(as: name) }?.value }
}

extension AuthenticationChallenge {
  /// The challenges of all `WWW-Authenticate` lines of a response, in order.
  public static func all(in fields: HTTPFields) -> [AuthenticationChallenge] {
    parse(fields.values(of: "WWW-Authenticate"))
  }

  /// The challenges of these field values (RFC 9110 section 11.6.1): several in one value and in several values.
  ///
  /// A malformed item is skipped up to the next comma. At most 64 KiB are read, and at most 32 challenges of 64
  /// parameters each are kept.
  public static func parse(_ values: [String]) -> [AuthenticationChallenge] {
    var result: [AuthenticationChallenge] = []
    var budget = 65_536
    for value in values {
      budget -= value.utf8.count
      guard budget >= 0, result.count < 32 else { break }
      var scanner = ChallengeScanner(value)
      while result.count < 32, let challenge = scanner.next() { result.append(challenge) }
    }
    return result
  }
}

/// Parses one `WWW-Authenticate` value; every step consumes a byte, so that it always ends.
struct ChallengeScanner {
  private let bytes: [UInt8]
  private var position = 0

  init(_ value: String) { bytes = Array(value.utf8) }

  /// The next challenge, or nil at the end.
  mutating func next() -> AuthenticationChallenge? {
    while true {
      skipSpacesAndCommas()
      guard position < bytes.count else { return nil }
      guard let scheme = token(), isAtEndOfScheme else {
        skipToComma()
        continue
      }
      skipSpaces()
      if let value = token68() { return AuthenticationChallenge(scheme: scheme, token68: value) }
      return AuthenticationChallenge(scheme: scheme, parameters: parameters())
    }
  }

  /// Whether the scheme just read is followed by white space, a comma, or nothing.
  private var isAtEndOfScheme: Bool {
    position == bytes.count || ASCII.isSpace(bytes[position]) || bytes[position] == UInt8(ascii: ",")
  }

  /// A token68, `1*( ALPHA / DIGIT / "-" / "." / "_" / "~" / "+" / "/" ) *"="`, followed by a comma or the end.
  private mutating func token68() -> String? {
    var end = position
    while end < bytes.count, ASCII.isToken68Character(bytes[end]) { end += 1 }
    guard end > position else { return nil }
    while end < bytes.count, bytes[end] == UInt8(ascii: "=") { end += 1 }
    var after = end
    while after < bytes.count, ASCII.isSpace(bytes[after]) { after += 1 }
    guard after == bytes.count || bytes[after] == UInt8(ascii: ",") else { return nil }
    let value = String(decoding: bytes[position..<end], as: UTF8.self)
    position = after
    return value
  }

  /// The `name=value` items up to the next scheme, which is a token without `=` after it.
  private mutating func parameters() -> [AuthenticationChallenge.Parameter] {
    var result: [AuthenticationChallenge.Parameter] = []
    while true {
      skipSpacesAndCommas()
      let start = position
      guard position < bytes.count else { return result }
      guard let name = token() else {
        skipToComma()
        continue
      }
      skipSpaces()
      guard position < bytes.count, bytes[position] == UInt8(ascii: "=") else {
        position = start
        return result
      }
      position += 1
      skipSpaces()
      guard let value = value() else {
        skipToComma()
        continue
      }
      if result.count < 64 { result.append(.init(name: name.lowercasedASCII(), value: value)) }
    }
  }

  /// A quoted string, or everything up to white space or a comma: servers leave URLs unquoted.
  private mutating func value() -> String? {
    guard position < bytes.count else { return nil }
    if bytes[position] == UInt8(ascii: "\"") { return quotedString() }
    let start = position
    while position < bytes.count, bytes[position] != UInt8(ascii: ","), bytes[position] > 0x20,
      bytes[position] != UInt8(ascii: "\"")
    {
      position += 1
    }
    return position > start ? String(decoding: bytes[start..<position], as: UTF8.self) : nil
  }

  /// A quoted string (RFC 9110 section 5.6.4); nil when the closing quote is missing, and then nothing is left.
  private mutating func quotedString() -> String? {
    position += 1
    var result: [UInt8] = []
    while position < bytes.count {
      let byte = bytes[position]
      position += 1
      if byte == UInt8(ascii: "\"") { return String(decoding: result, as: UTF8.self) }
      if byte == UInt8(ascii: "\\"), position < bytes.count {
        result.append(bytes[position])
        position += 1
      } else {
        result.append(byte)
      }
    }
    return nil
  }

  private mutating func token() -> String? {
    let start = position
    while position < bytes.count, ASCII.isTokenCharacter(bytes[position]) { position += 1 }
    return position > start ? String(decoding: bytes[start..<position], as: UTF8.self) : nil
  }

  /// Skips a malformed item, up to the next comma outside of quotes.
  private mutating func skipToComma() {
    while position < bytes.count, bytes[position] != UInt8(ascii: ",") {
      if bytes[position] == UInt8(ascii: "\"") { _ = quotedString() } else { position += 1 }
    }
  }

  private mutating func skipSpaces() {
    while position < bytes.count, ASCII.isSpace(bytes[position]) { position += 1 }
  }

  private mutating func skipSpacesAndCommas() {
    while position < bytes.count, ASCII.isSpace(bytes[position]) || bytes[position] == UInt8(ascii: ",") {
      position += 1
    }
  }

}

extension AuthenticationChallenge: ConciseStringConvertible {
  /// Scheme and names of parameters: a token68 and values may be secret.
  public var description: String {
    Concise.text("\(Concise.name(scheme)) challenge", Concise.list(parameters.map(\.name), of: "parameter"))
  }
}

extension AuthenticationChallenge.Parameter: ConciseStringConvertible {
  /// The name: the value may be secret.
  public var description: String { "parameter \(Concise.name(name))" }
}
