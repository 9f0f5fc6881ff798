import PosternSupport

/// Reads a configuration: one YAML (or JSON) file, overridden by environment variables, secrets fetched, everything
/// checked.
///
/// Files and groups come through closures, so that it can be used without a disk. It keeps nothing between two
/// readings.
public struct ConfigurationLoader: Sendable {
  /// A configuration that can be used.
  public struct Loaded: Sendable, Equatable {
    /// The configuration.
    public var configuration: PosternConfiguration
    /// Warnings: inline secrets, secret files that everybody can read, development switches.
    public var warnings: [ConfigurationProblem]
    /// The files and ports it refers to.
    public var reach = OutboundTargets()
    /// The keys that are given, and have an effect in a sidecar only: they are about its callers and its process.
    public var sidecarKeys: [String] = []
  }

  /// Reads a file, at most so many bytes.
  public typealias FileReader =
    @Sendable (_ path: String, _ limit: Int) -> Result<ConfigurationFile, ConfigurationFile.Failure>

  private let readFile: FileReader
  private let groupIdentifier: @Sendable (_ name: String) -> UInt32?
  private let methodNames: [String]?
  /// The configuration, in place of its file; nil: the file.
  private let text: [UInt8]?

  /// A loader of this machine's files and groups; `methodNames` are the names of all methods. `explaining` may replace
  /// the reason why a file cannot be read.
  public init(
    methodNames: [String],
    explaining failure:
      @escaping @Sendable (_ path: String, _ failure: ConfigurationFile.Failure)
      -> ConfigurationFile.Failure
  ) {
    self.init(
      methodNames: methodNames,
      readFile: { path, limit in SystemFiles.read(path, limit: limit).mapError { failure(path, $0) } })
  }

  /// A loader of the files and groups that the closures return, by default of this machine's. Without `methodNames`
  /// rules may list any method. With `text`, that is the configuration, and its file is not read.
  public init(
    methodNames: [String]? = nil, text: [UInt8]? = nil, readFile: FileReader? = nil,
    groupIdentifier: @escaping @Sendable (_ name: String) -> UInt32? = { SystemGroups.identifier(of: $0) }
  ) {
    self.methodNames = methodNames
    self.text = text
    self.readFile = readFile ?? { SystemFiles.read($0, limit: $1) }
    self.groupIdentifier = groupIdentifier
  }

  /// Reads the configuration file at `path` with the overrides in `environment` (`POSTERN__LISTEN__PATH` and so on).
  ///
  /// Relative paths in the file begin at its directory; those of secrets and certificates first at
  /// `$CREDENTIALS_DIRECTORY`.
  /// - Throws: everything that is wrong, at once.
  public func load(path: String, environment: [String: String]) throws(ConfigurationProblems) -> Loaded {
    let file: ConfigurationFile
    let files = Locked<Set<String>>([path])
    let readFile: FileReader = { [readFile] path, limit in
      files.withLock { _ = $0.insert(path) }
      return readFile(path, limit)
    }
    switch text.map({ .success(ConfigurationFile(bytes: $0)) }) ?? readFile(path, YAMLDocument.maxBytes) {
    case .success(let found): file = found
    case .failure(.tooLarge): throw only("the file is larger than 1 MiB", in: path)
    case .failure(let failure): throw only(failure.message, in: path)
    }
    let document: YAMLDocument
    do {
      document = try YAMLDocument(file.bytes)
    } catch {
      throw ConfigurationProblems([Self.problem(error, in: path)])
    }
    let empty = SourceNode(content: .mapping([]), origin: .file(line: 1, column: 1))
    let schema = ConfigurationSchema.root
    var overrides = EnvironmentOverrides(schema.withCurrentNames(document.root ?? empty))
    overrides.apply(environment, to: schema)

    let dependencies = ConfigurationDependencies(
      directory: Self.directory(of: path), environment: environment, readFile: readFile,
      groupIdentifier: groupIdentifier, methodNames: methodNames)
    let context = ReadingContext(
      dependencies: dependencies, plainHTTP: Self.plainHTTP(overrides.root))
    let reader = SectionReader(overrides.root, at: ConfigurationPath(), in: context)
    let configuration = PosternConfiguration(reading: reader)
    reader.finish()

    var problems = document.problems.map { Self.problem($0, in: path) }
    problems += overrides.problems.map {
      ConfigurationProblem(file: path, environmentVariable: $0.variable, message: $0.message)
    }
    problems += context.problems.map { Self.problem($0, in: path) }
    var warnings = context.warnings.map { Self.problem($0, in: path) }
    if file.permissions & 0o002 != 0 {
      warnings.append(
        ConfigurationProblem(file: path, message: "every user of this machine can change this file; chmod o-w"))
    }
    Self.order(&warnings, in: path, as: "warnings")
    guard problems.isEmpty else {
      Self.order(&problems, in: path, as: "problems")
      throw ConfigurationProblems(problems, warnings: warnings)
    }
    var reach = OutboundTargets()
    reach.files = files.withLock { $0 }
    reach.ports = context.ports
    return Loaded(
      configuration: configuration, warnings: warnings, reach: reach, sidecarKeys: Self.sidecarKeys(overrides.root))
  }

  private static func sidecarKeys(_ root: SourceNode) -> [String] {
    func given(_ section: String, except others: Set<String>) -> [String] {
      guard case .mapping(let entries)? = root[section]?.content else { return [] }
      return entries.map(\.key).filter { !others.contains($0) }.map { "\(section).\($0)" }
    }
    let sections = ["listen", "peers", "http", "gateway", "validation", "health", "log", "telemetry", "audit"]
    let keys = given("limits", except: ["sessionBytesPerUid"]) + given("hardening", except: ["pinsRequired"])
    return sections.filter { root[$0] != nil } + keys
  }

  private func only(_ message: String, in path: String) -> ConfigurationProblems {
    ConfigurationProblems([ConfigurationProblem(file: path, message: message)])
  }

  private static func directory(of path: String) -> String {
    guard let slash = path.utf8.lastIndex(of: UInt8(ascii: "/")) else { return "" }
    return slash == path.startIndex ? "/" : String(path[..<slash])
  }

  /// Read before everything else, because every URL is validated with it.
  private static func plainHTTP(_ root: SourceNode) -> PlainHTTPPermission {
    var onLoopback = false
    if case .scalar(let scalar) = root["development"]?["plainHTTPOnLoopback"]?.content {
      onLoopback = (try? ValueForm.boolean.parse(scalar, .describing())) ?? false
    }
    var origins: [String] = []
    if case .sequence(let nodes) = root["outbound"]?["plainHTTP"]?.content {
      origins = nodes.compactMap { node in
        guard case .scalar(let scalar) = node.content else { return nil }
        return scalar.text
      }
    }
    return PlainHTTPPermission(onLoopback: onLoopback, origins: origins)
  }

  private static func problem(_ problem: YAMLProblem, in file: String) -> ConfigurationProblem {
    ConfigurationProblem(
      file: file, line: problem.line, column: problem.column, keyPath: problem.path.description,
      message: problem.message)
  }

  private static func problem(_ finding: ReadingContext.Finding, in file: String) -> ConfigurationProblem {
    let keyPath = finding.path.description
    return switch finding.origin {
    case .file(let line, let column):
      ConfigurationProblem(file: file, line: line, column: column, keyPath: keyPath, message: finding.message)
    case .environment(let variable):
      ConfigurationProblem(
        file: file, environmentVariable: variable, keyPath: keyPath, message: finding.message)
    case .unknown:
      ConfigurationProblem(file: file, keyPath: keyPath, message: finding.message)
    }
  }

  /// The order of the file, then the environment; of very many the first ones.
  private static func order(_ problems: inout [ConfigurationProblem], in path: String, as kind: String) {
    func rank(_ problem: ConfigurationProblem) -> (Int, Int, String, String) {
      let line = problem.line ?? (problem.environmentVariable == nil ? 0 : .max)
      return (line, problem.column ?? 0, problem.environmentVariable ?? "", problem.keyPath)
    }
    problems.sort { rank($0) < rank($1) }
    guard problems.count > maxReported else { return }
    let message = "and \(problems.count - maxReported) more \(kind)"
    problems = problems.prefix(maxReported) + [ConfigurationProblem(file: path, message: message)]
  }

  private static let maxReported = 200
}

/// The files and ports that a configuration refers to, recorded while it was read.
public struct OutboundTargets: Sendable, Equatable {
  /// Every file that was read, or looked for: the configuration itself, secrets, certificates.
  public internal(set) var files: Set<String> = []
  /// The TCP ports of its URLs, each with a key that has one.
  public internal(set) var ports: [UInt16: String] = [:]

  /// Nothing.
  public init() {}
}
