/// The format of a secret's text.
enum SecretShape {
  /// One line: a password, a client secret, a token.
  case line
  /// Any text, such as a PEM file.
  case text

  /// The error in `secret`, without quoting it; nil when there is none.
  func problem(with secret: String) -> String? {
    switch self {
    case .line where secret.unicodeScalars.contains { $0.properties.generalCategory == .control }:
      "the secret contains a line break or another control character (one line feed at its end is allowed for)"
    case .text where secret.unicodeScalars.contains("\0"):
      "the secret contains a NUL character"
    default:
      nil
    }
  }
}
