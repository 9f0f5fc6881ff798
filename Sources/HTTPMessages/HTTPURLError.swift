/// Why a text is not an acceptable URL. Never quotes the text, which may hold secrets.
public struct HTTPURLError: Error, Sendable, Hashable, CustomStringConvertible {
  /// The rule that was broken.
  public enum Reason: String, Sendable, Hashable, CaseIterable {
    /// Longer than `HTTPURL.maxBytes`.
    case tooLong
    /// No scheme at its beginning.
    case notAbsolute
    /// A scheme other than `http` and `https`.
    case unsupportedScheme
    /// No `//` behind the scheme.
    case missingAuthority
    /// `user@` or `user:password@` before the host.
    case userInformation
    /// No host.
    case emptyHost
    /// A host that is neither a name of letters, digits, `-`, `_` and single inner dots nor an address in canonical
    /// form.
    case invalidHost
    /// A port that is no number from 1 to 65535.
    case invalidPort
    /// A space or a control character.
    case controlCharacter
    /// A backslash.
    case backslash
    /// A byte beyond ASCII.
    case notASCII
    /// A character that RFC 3986 allows nowhere in a path or query.
    case forbiddenCharacter
    /// `%` without two hexadecimal digits behind it.
    case invalidPercentEncoding
  }

  /// The rule that was broken.
  public let reason: Reason

  /// An error of that reason.
  public init(_ reason: Reason) { self.reason = reason }

  /// A phrase for people, to be put behind "the URL".
  public var description: String {
    switch reason {
    case .tooLong: "is longer than \(HTTPURL.maxBytes) bytes"
    case .notAbsolute: "is not absolute"
    case .unsupportedScheme: "has a scheme other than http and https"
    case .missingAuthority: "lacks // behind its scheme"
    case .userInformation: "holds user information"
    case .emptyHost: "has no host"
    case .invalidHost: "has an invalid host (names in ASCII or punycode, addresses in canonical form, no trailing dot)"
    case .invalidPort: "has an invalid port"
    case .controlCharacter: "holds a space or a control character"
    case .backslash: "holds a backslash"
    case .notASCII: "holds a character beyond ASCII that is not percent-encoded"
    case .forbiddenCharacter: "holds a character that must be percent-encoded"
    case .invalidPercentEncoding: "holds a % that is not followed by two hexadecimal digits"
    }
  }
}
