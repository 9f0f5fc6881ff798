import PosternSupport

/// Reads a secret by the keys that it may be given by: its file, its environment variable, or itself.
package struct SecretKeys {
  /// Where a secret was found: its bytes, and the key.
  package typealias Found = (bytes: [UInt8], source: ConfiguredSecretSource, key: String)

  package let reader: SectionReader
  /// Whether the bytes of a file are taken as they are: nothing is stripped.
  package let isExact: Bool

  /// The contents of a list of files.
  package func files(
    _ name: String, _ documentation: String, example: KeySpecification.Example
  ) -> [(bytes: [UInt8], file: ConfiguredSecretSource, path: ConfigurationPath)] {
    reader.list(name, of: .path, default: [], documentation, example: example).enumerated().compactMap { index, file in
      let path = reader.path.key(name).index(index)
      return read(file, at: path).map { ($0, .file(reader.context.dependencies.resolved(file)), path) }
    }
  }

  /// Reads the one of the keys that is given, and describes all of them.
  package func find(_ name: String, _ documentation: String, exampleFile: KeySpecification.Example) -> Found? {
    let file = "\(name)File"
    let variable = "\(name)Env"
    let text: ValueForm<String> = .text
    func describe(
      _ key: String, _ documentation: @autoclosure () -> String, _ example: @autoclosure () -> KeySpecification.Example?
    ) {
      reader.describe(key) {
        KeySpecification(
          name: key, documentation: documentation(), form: .value(text.schema()), example: example(), secretName: name)
      }
    }
    describe(file, documentation, exampleFile)
    describe(variable, "The environment variable that holds what \(file) would.", nil)
    describe(name, "The same secret in this file itself. Works, and warns: prefer \(file).", nil)

    guard reader.isPresent else { return nil }
    let given = [file, variable, name].filter(reader.isGiven)
    guard given.count <= 1 else {
      _ = reader.recordedEntry(given[1])
      reader.problem("give only one of \(given.joined(separator: ", "))", at: given[1])
      return nil
    }
    switch given.first {
    case file:
      guard let path = reader.read(file, .path), let bytes = read(path, at: reader.path.key(file)) else {
        return nil
      }
      return (bytes, .file(reader.context.dependencies.resolved(path)), file)
    case variable:
      return environmentSecret(reader.read(variable, text), key: variable)
    case name:
      return inlineSecret(name)
    default:
      return nil
    }
  }

  private func read(_ file: String, at path: ConfigurationPath) -> [UInt8]? {
    switch reader.context.dependencies.readSecret(file, exact: isExact) {
    case .success(let secret):
      if secret.isReadableByOthers {
        reader.context.warn("the file is readable by every user of this machine; chmod o-r", at: path)
      }
      return secret.bytes
    case .failure(let problem):
      reader.context.problem(problem.message, at: path)
      return nil
    }
  }

  private func environmentSecret(_ variable: String?, key: String) -> Found? {
    guard let variable else { return nil }
    guard let value = reader.context.dependencies.environment[variable] else {
      reader.problem("the environment variable \(variable) is not set", at: key)
      return nil
    }
    guard !value.isEmpty else {
      reader.problem("the environment variable \(variable) is empty", at: key)
      return nil
    }
    return (Array(value.utf8), .environment(variable), key)
  }

  private func inlineSecret(_ name: String) -> Found? {
    guard let node = reader.recordedEntry(name)?.value else { return nil }
    guard case .scalar(let scalar) = node.content else {
      reader.problem("must be a single value, not \(node.kind)", at: name)
      return nil
    }
    guard !scalar.text.isEmpty, !scalar.isNull else {
      reader.problem("the secret is empty", at: name)
      return nil
    }
    if scalar.style != .environment {
      reader.warn("the secret is in the configuration itself; use \(name)File or \(name)Env", at: name)
    }
    return (Array(scalar.text.utf8), .inline, name)
  }
}
