import PosternJSON
import PosternSupport
import PosternYAML

extension SectionReader {
  /// Reads a secret as text: `name`, `nameFile` or `nameEnv`, at most one of them.
  func secret(
    _ name: String, _ shape: SecretShape, _ documentation: String, exampleFile: KeySpecification.Example
  ) -> ConfiguredSecret<String>? {
    guard let (bytes, source, key) = secretBytes(name, documentation, exampleFile: exampleFile, exact: false) else {
      return nil
    }
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
  func secretBytes(
    _ name: String, _ documentation: String, exampleFile: KeySpecification.Example
  ) -> ConfiguredSecret<[UInt8]>? {
    secretBytes(name, documentation, exampleFile: exampleFile, exact: true)
      .map { ConfiguredSecret(Secret($0.bytes), from: $0.source) }
  }

  /// A list of files that each hold a secret.
  func secretFiles(
    _ name: String, _ documentation: String, example: KeySpecification.Example
  ) -> [ConfiguredSecret<String>] {
    files(name, documentation, example: example, exact: false).compactMap { bytes, file, path in
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
    files(name, documentation, example: example, exact: true).map { ConfiguredSecret(Secret($0.bytes), from: $0.file) }
  }

  private func files(
    _ name: String, _ documentation: String, example: KeySpecification.Example, exact: Bool
  ) -> [(bytes: [UInt8], file: ConfiguredSecretSource, path: ConfigurationPath)] {
    list(name, of: .path, default: [], documentation, example: example).enumerated().compactMap { index, file in
      let path = path.key(name).index(index)
      return read(file, at: path, exact: exact).map { ($0, .file(context.dependencies.resolved(file)), path) }
    }
  }

  private typealias Found = (bytes: [UInt8], source: ConfiguredSecretSource, key: String)

  private func secretBytes(
    _ name: String, _ documentation: String, exampleFile: KeySpecification.Example, exact: Bool
  ) -> Found? {
    let file = "\(name)File"
    let variable = "\(name)Env"
    let text = ValueForm.text
    func describe(_ key: String, _ documentation: String, _ example: KeySpecification.Example?) {
      self.describe(
        KeySpecification(
          name: key, documentation: documentation, form: .value(text.schema), example: example, secretName: name))
    }
    describe(file, documentation, exampleFile)
    describe(variable, "The environment variable that holds what \(file) would.", nil)
    describe(name, "The same secret in this file itself. Works, and warns: prefer \(file).", nil)

    let given = [file, variable, name].filter(isGiven)
    guard given.count <= 1 else {
      problem("give only one of \(given.joined(separator: ", "))", at: given[1])
      return nil
    }
    switch given.first {
    case file:
      guard let path = read(file, .path), let bytes = read(path, at: self.path.key(file), exact: exact) else {
        return nil
      }
      return (bytes, .file(context.dependencies.resolved(path)), file)
    case variable:
      return environmentSecret(read(variable, text), key: variable)
    case name:
      return inlineSecret(name)
    default:
      return nil
    }
  }

  private func read(_ file: String, at path: ConfigurationPath, exact: Bool) -> [UInt8]? {
    switch context.dependencies.readSecret(file, exact: exact) {
    case .success(let secret):
      if secret.isReadableByOthers {
        context.warn("the file is readable by every user of this machine; chmod o-r", at: path)
      }
      return secret.bytes
    case .failure(let problem):
      context.problem(problem.message, at: path)
      return nil
    }
  }

  private func environmentSecret(_ variable: String?, key: String) -> Found? {
    guard let variable else { return nil }
    guard let value = context.dependencies.environment[variable] else {
      problem("the environment variable \(variable) is not set", at: key)
      return nil
    }
    guard !value.isEmpty else {
      problem("the environment variable \(variable) is empty", at: key)
      return nil
    }
    return (Array(value.utf8), .environment(variable), key)
  }

  private func inlineSecret(_ name: String) -> Found? {
    guard let node = entry(name)?.value else { return nil }
    guard case .scalar(let scalar) = node.content else {
      problem("must be a single value, not \(node.kind)", at: name)
      return nil
    }
    guard !scalar.text.isEmpty, !scalar.isNull else {
      problem("the secret is empty", at: name)
      return nil
    }
    if scalar.style != .environment {
      warn("the secret is in the configuration itself; use \(name)File or \(name)Env", at: name)
    }
    return (Array(scalar.text.utf8), .inline, name)
  }
}
