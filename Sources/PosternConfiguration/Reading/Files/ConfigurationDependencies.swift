/// The world outside the configuration file: files, variables, groups.
package struct ConfigurationDependencies: Sendable {
  /// A secret file that could be read.
  package struct SecretFile {
    /// Its content.
    package var bytes: [UInt8]
    /// Whether its permissions let every user read it.
    var isReadableByOthers: Bool
  }

  /// The largest secret: certificates and key files included.
  static let maxSecretBytes = 64 << 10
  /// The largest file that is only looked at, such as a bundle of certificate authorities.
  package static let maxFileBytes = 16 << 20

  /// The directory of the configuration file: where relative paths begin.
  package var directory: String
  /// The process's environment.
  package var environment: [String: String]
  /// Reads a file, at most so many bytes.
  package var readFile: @Sendable (_ path: String, _ limit: Int) -> Result<ConfigurationFile, ConfigurationFile.Failure>
  /// The id of a group by name or number.
  package var groupIdentifier: @Sendable (_ name: String) -> UInt32?
  /// The names of the methods that a rule of `peers` can list; nil accepts any name.
  package var methodNames: [String]?

  /// The given world; relative paths begin at `directory`.
  package init(
    directory: String, environment: [String: String],
    readFile:
      @escaping @Sendable (_ path: String, _ limit: Int) -> Result<ConfigurationFile, ConfigurationFile.Failure>,
    groupIdentifier: @escaping @Sendable (_ name: String) -> UInt32?, methodNames: [String]? = nil
  ) {
    self.directory = directory
    self.environment = environment
    self.readFile = readFile
    self.groupIdentifier = groupIdentifier
    self.methodNames = methodNames
  }

  /// No files, variables or groups.
  package static let none = ConfigurationDependencies(
    directory: "", environment: [:], readFile: { _, _ in .failure(.notFound) }, groupIdentifier: { _ in nil })

  /// The full path of `path`. Absolute paths stay; a relative one names a systemd credential if
  /// `$CREDENTIALS_DIRECTORY` is set and contains such a file (systemd.exec(5), LoadCredential=), and otherwise a file
  /// in the configuration's directory.
  package func resolved(_ path: String) -> String {
    guard !path.hasPrefix("/") else { return path }
    if let credentials = environment["CREDENTIALS_DIRECTORY"], credentials.hasPrefix("/") {
      let candidate = Self.join(credentials, path)
      if case .success = readFile(candidate, Self.maxFileBytes) { return candidate }
    }
    return inConfigurationDirectory(path)
  }

  /// `path` as seen from the directory of the configuration file.
  func inConfigurationDirectory(_ path: String) -> String {
    path.hasPrefix("/") || directory.isEmpty ? path : Self.join(directory, path)
  }

  /// Reads the secret in the file at `path`; one line feed (or CR LF) at its end is not part of it, unless `exact`.
  func readSecret(_ path: String, exact: Bool) -> Result<SecretFile, FileProblem> {
    let resolved = resolved(path)
    switch readFile(resolved, Self.maxSecretBytes) {
    case .failure(let failure):
      return .failure(FileProblem(path: resolved, failure: failure))
    case .success(let file):
      var bytes = file.bytes
      if !exact, bytes.last == UInt8(ascii: "\n") {
        bytes.removeLast()
        if bytes.last == UInt8(ascii: "\r") { bytes.removeLast() }
      }
      guard !bytes.isEmpty else { return .failure(FileProblem(message: "\(resolved): the secret is empty")) }
      return .success(SecretFile(bytes: bytes, isReadableByOthers: file.permissions & 0o004 != 0))
    }
  }

  private static func join(_ directory: String, _ path: String) -> String {
    var path = path[...]
    while path.hasPrefix("./") { path = path.dropFirst(2) }
    return directory.hasSuffix("/") ? directory + path : "\(directory)/\(path)"
  }
}

/// Why a file that the configuration names cannot be used.
package struct FileProblem: Error {
  /// In words.
  package var message: String

  /// A problem in words.
  package init(message: String) { self.message = message }

  /// A failure to read the file at `path`.
  package init(path: String, failure: ConfigurationFile.Failure) {
    message = "\(ConfigurationPath.printable(path)): \(failure.message)"
  }
}
