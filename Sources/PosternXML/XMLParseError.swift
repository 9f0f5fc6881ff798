/// Why a text is no document that is taken. Quotes nothing of it.
public struct XMLParseError: Error, Sendable, Hashable {
  /// What is wrong.
  public enum Kind: Sendable, Hashable {
    /// It is not well-formed XML in UTF-8.
    case notWellFormed
    /// It has a document type declaration.
    case documentType
    /// It has more bytes than allowed.
    case tooLarge
    /// Its elements are nested more deeply than allowed.
    case tooDeep
    /// It has more elements and attributes than allowed.
    case tooMany
  }

  /// What is wrong.
  public let kind: Kind
  /// Where, as the number of bytes before it.
  public let offset: Int
}
