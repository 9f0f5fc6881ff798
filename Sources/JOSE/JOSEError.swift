/// Why a token, a key or a key set is refused. Open set of codes; equality looks at `code` only, never at prose.
public struct JOSEError: Error, Sendable {
  /// What was wrong, by the names callers switch on.
  public struct Code: Sendable, Hashable, RawRepresentable {
    /// The stable symbol.
    public let rawValue: String
    /// A code of that symbol.
    public init(rawValue: String) { self.rawValue = rawValue }
  }

  /// What was wrong.
  public let code: Code
  /// For people and logs: never holds key material, signatures or claim values.
  public let message: String
  /// The claim or header parameter concerned, where there is one.
  public let claim: String?

  /// An error of the given parts.
  public init(_ code: Code, _ message: String, claim: String? = nil) {
    self.code = code
    self.message = message
    self.claim = claim
  }
}

extension JOSEError: Equatable {
  /// Same code.
  public static func == (left: JOSEError, right: JOSEError) -> Bool { left.code == right.code }
}

extension JOSEError: CustomStringConvertible {
  /// `code: message`.
  public var description: String { "\(code.rawValue): \(message)" }
}
