import PosternConfiguration
import PosternSupport

/// A configuration with the world around it, in memory.
struct Fixture {
  /// The configuration file's directory and name.
  static let path = "/etc/postern/postern.yaml"

  /// The configuration's bytes.
  var bytes: [UInt8]
  /// The other files.
  var files: [String: ConfigurationFile] = [:]
  /// The environment.
  var environment: [String: String] = [:]
  /// The configuration file's permissions.
  var permissions: UInt32 = 0o640
  /// Whether files that are not in `files` hold a secret anyway.
  var hasAllFiles = false
  /// The methods that there are; nil: any name will do.
  var methodNames: [String]?

  init(_ yaml: String, files: [String: String] = [:], environment: [String: String] = [:]) {
    bytes = Array(yaml.utf8)
    self.files = files.mapValues { ConfigurationFile(bytes: Array($0.utf8)) }
    self.environment = environment
  }

  func load() -> Result<ConfigurationLoader.Loaded, ConfigurationProblems> {
    let configuration = ConfigurationFile(bytes: bytes, permissions: permissions)
    let (files, hasAllFiles) = (files, hasAllFiles)
    let loader = ConfigurationLoader(
      methodNames: methodNames,
      readFile: { path, limit in
        let file = path == Self.path ? configuration : files[path]
        guard let file else {
          return hasAllFiles
            ? .success(ConfigurationFile(bytes: Array("secret of \(path)\n".utf8))) : .failure(.notFound)
        }
        return file.bytes.count > limit ? .failure(.tooLarge) : .success(file)
      },
      groupIdentifier: { ["app": 3000, "3000": 3000][$0] })
    return Result { () throws(ConfigurationProblems) in try loader.load(path: Self.path, environment: environment) }
  }

  /// The configuration; the problems are thrown.
  func configuration() throws -> PosternConfiguration { try load().get().configuration }

  /// The problems, without the file's name; empty when the configuration is good.
  var problems: [String] {
    guard case .failure(let problems) = load() else { return [] }
    return problems.problems.map { Self.short($0) }
  }

  /// The warnings, without the file's name, whether the configuration is good or not.
  var warnings: [String] {
    switch load() {
    case .success(let loaded): loaded.warnings.map { Self.short($0) }
    case .failure(let problems): problems.warnings.map { Self.short($0) }
    }
  }

  private static func short(_ problem: ConfigurationProblem) -> String {
    let text = problem.description
    return text.hasPrefix("\(path):") ? String(text.dropFirst(path.count + 1)) : text
  }
}
