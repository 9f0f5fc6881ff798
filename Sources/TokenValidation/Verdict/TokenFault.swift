public import JOSE
public import PosternJSON

/// Why a token is refused: the first check that failed.
///
/// `expected` and `actual` are for diagnosis. Nonces, hashes, subjects and whatever else identifies or protects
/// somebody are never in them.
public struct TokenFault: Error, Sendable {
  /// The name of the check, stable: callers switch on it.
  public struct Code: Sendable, Hashable, RawRepresentable {
    /// The symbol on the wire.
    public let rawValue: String
    /// A code of that symbol.
    public init(rawValue: String) { self.rawValue = rawValue }
  }

  /// What failed.
  public let code: Code
  /// For people and logs.
  public let message: String
  /// The claim or header parameter concerned.
  public let claim: String?
  /// What would have passed.
  public let expected: JSONValue?
  /// What was found.
  public let actual: JSONValue?

  /// A fault of the given parts. What was found is cut to a length that fits a log line.
  public init(
    _ code: Code, _ message: String, claim: String? = nil, expected: JSONValue? = nil, actual: JSONValue? = nil
  ) {
    self.code = code
    self.message = message
    self.claim = claim
    self.expected = expected
    self.actual = actual.map(Self.shortened)
  }

  /// What the JOSE layer found wrong, under the same name.
  public init(_ error: JOSEError, expected: JSONValue? = nil, actual: JSONValue? = nil) {
    self.init(
      Code(rawValue: error.code.rawValue), error.message, claim: error.claim, expected: expected, actual: actual)
  }

  static let shownScalars = 200
  static let shownElements = 10

  private static func shortened(_ value: JSONValue) -> JSONValue {
    switch value {
    case .string(let text): .string(String(String.UnicodeScalarView(text.unicodeScalars.prefix(shownScalars))))
    case .array(let elements): .array(elements.prefix(shownElements).map(shortened))
    case .object: .string("an object")
    default: value
    }
  }
}

extension TokenFault: Equatable {
  /// Same code and claim; prose does not count.
  public static func == (left: TokenFault, right: TokenFault) -> Bool {
    left.code == right.code && left.claim == right.claim
  }
}

extension TokenFault: CustomStringConvertible {
  /// `code: message`.
  public var description: String { "\(code.rawValue): \(message)" }
}
