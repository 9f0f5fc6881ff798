/// What the text of a secret may look like.
enum SecretShape {
  /// One line: a password, a client secret, a token.
  case line
  /// Any text, such as a PEM file.
  case text

  /// What is wrong with `secret`, never quoting it; nil when nothing is.
  func complaint(about secret: String) -> String? {
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
