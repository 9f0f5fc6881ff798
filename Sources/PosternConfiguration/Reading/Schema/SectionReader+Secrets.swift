import PosternSupport

extension SectionReader {
  /// Reads a secret as text: `name`, `nameFile` or `nameEnv`, at most one of them.
  package func secret(
    _ name: String, _ shape: SecretShape, _ documentation: String, exampleFile: KeySpecification.Example
  ) -> ConfiguredSecret<String>? {
    let found = SecretKeys(reader: self, isExact: false).find(name, documentation, exampleFile: exampleFile)
    guard let (bytes, source, key) = found else { return nil }
    guard let text = String(validating: bytes, as: UTF8.self) else {
      problem("the secret is not UTF-8 text", at: key)
      return nil
    }
    if let message = shape.problem(with: text) {
      problem(message, at: key)
      return nil
    }
    return ConfiguredSecret(Secret(text), from: source)
  }

  /// Reads a secret as the bytes of its file, nothing stripped.
  package func secretBytes(
    _ name: String, _ documentation: String, exampleFile: KeySpecification.Example
  ) -> ConfiguredSecret<[UInt8]>? {
    SecretKeys(reader: self, isExact: true).find(name, documentation, exampleFile: exampleFile)
      .map { ConfiguredSecret(Secret($0.bytes), from: $0.source) }
  }

  /// A list of files that each hold a secret.
  func secretFiles(
    _ name: String, _ documentation: String, example: KeySpecification.Example
  ) -> [ConfiguredSecret<String>] {
    let files = SecretKeys(reader: self, isExact: false).files(name, documentation, example: example)
    return files.compactMap { bytes, file, path in
      guard let text = String(validating: bytes, as: UTF8.self) else {
        context.problem("the secret is not UTF-8 text", at: path)
        return nil
      }
      return ConfiguredSecret(Secret(text), from: file)
    }
  }

  /// A list of files that each hold a secret as their bytes, nothing stripped.
  func secretBytesFiles(
    _ name: String, _ documentation: String, example: KeySpecification.Example
  ) -> [ConfiguredSecret<[UInt8]>] {
    SecretKeys(reader: self, isExact: true).files(name, documentation, example: example)
      .map { ConfiguredSecret(Secret($0.bytes), from: $0.file) }
  }
}

/// The format of a secret's text.
package enum SecretShape {
  /// One line: a password, a client secret, a token.
  case line
  /// Any text, such as a PEM file.
  case text

  /// The error in `secret`, without quoting it; nil when there is none.
  package func problem(with secret: String) -> String? {
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
