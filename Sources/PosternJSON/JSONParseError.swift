/// Why a text is not acceptable JSON. Never quotes the text, which may hold secrets.
public struct JSONParseError: Error, Sendable, Hashable, CustomStringConvertible {
  /// The kind of fault.
  public enum Kind: String, Sendable, Hashable, CaseIterable {
    /// Not JSON.
    case syntax
    /// Two members of one object with the same name, escapes resolved.
    case duplicateMember
    /// Deeper than the limit.
    case tooDeep
    /// Larger than the limit.
    case tooLarge
    /// Not UTF-8, or an unpaired surrogate.
    case encoding
    /// A number beyond 64-bit integers or doubles.
    case numberOutOfRange
    /// U+0000 where it is not accepted.
    case nul
    /// The text ended early, or there was none.
    case truncated
  }

  /// The kind of fault.
  public let kind: Kind
  /// Where, in bytes from the start of the text, as far as it is known.
  public let offset: Int?

  /// An error of the given parts.
  public init(kind: Kind, offset: Int? = nil) {
    self.kind = kind
    self.offset = offset
  }

  /// A sentence for people.
  public var description: String {
    let what =
      switch kind {
      case .syntax: "not valid JSON"
      case .duplicateMember: "duplicate member name in an object"
      case .tooDeep: "nested too deeply"
      case .tooLarge: "too large"
      case .encoding: "not valid UTF-8"
      case .numberOutOfRange: "number out of range"
      case .nul: "U+0000 is not accepted here"
      case .truncated: "ends too early"
      }
    return offset.map { "\(what) (byte \($0))" } ?? what
  }
}
