import AuthEngine
import Glibc
import PosternConfiguration
import PosternJSON
import PosternSupport

/// The checks of `postern doctor` that need no server: permissions, the socket's directory.
struct LocalExamination {
  private let loaded: ConfigurationLoader.Loaded
  private let notes: [String]
  private let environment: [String: String]
  private let report: DoctorReport

  /// `notes` are warnings about the configuration and the environment.
  init(
    _ loaded: ConfigurationLoader.Loaded, notes: [String], environment: [String: String], _ report: DoctorReport
  ) {
    self.loaded = loaded
    self.notes = notes
    self.environment = environment
    self.report = report
  }

  func run() {
    checkPermissions()
    checkSocket()
  }

  // MARK: - Permissions

  private func checkPermissions() {
    let files = loaded.reach.files.filter { access($0, F_OK) == 0 }.sorted()
    let tried = "read owners and modes of \(files.count) file(s), as uid \(geteuid())"
    var warnings = loaded.warnings.map(\.description) + notes
    for file in files {
      var status = stat()
      guard stat(file, &status) == 0, ![0, geteuid()].contains(status.st_uid) else { continue }
      warnings.append("\(file): it belongs to uid \(status.st_uid), who can change it")
    }
    for warning in warnings {
      report.add(
        "permissions and settings", tried: tried,
        .warning(warning, cure: "correct it, unless it is what you want: `serve` starts with it"))
    }
    if warnings.isEmpty { report.add("permissions and settings", tried: tried, .ok("nothing to warn of")) }
  }

  // MARK: - The socket

  private func checkSocket() {
    let listen = loaded.configuration.listen
    let path = listen.socketPath(environment: environment)
    let directory = FileLocations.directory(of: path)
    let number = report.begin("socket directory", tried: "look at \(directory)")
    var status = stat()
    guard stat(directory, &status) == 0, status.st_mode & S_IFMT == S_IFDIR else {
      return report.end(number, missing(directory, isMade: listen.directoryMode != nil))
    }
    report.end(number, Self.directoryFinding(directory, status))
    checkAnswer(at: path)
  }

  private func missing(_ directory: String, isMade: Bool) -> DoctorFinding {
    if isMade { return .ok("it is missing, and `serve` makes it (listen.directoryMode)") }
    return .failed(
      "there is no such directory",
      cure: "mkdir \(directory), or RuntimeDirectory= of systemd, or listen.directoryMode, or another listen.path")
  }

  private static func directoryFinding(_ directory: String, _ status: stat) -> DoctorFinding {
    let mode = String(status.st_mode & 0o7777, radix: 8)
    let found = "mode \(mode), owner uid \(status.st_uid), group gid \(status.st_gid)"
    guard access(directory, W_OK | X_OK) == 0 else {
      return .failed(
        "\(found): uid \(geteuid()) cannot make a socket there",
        cure: "run this as the sidecar's user; or give it the directory: chown \(geteuid()) \(directory)")
    }
    guard status.st_mode & S_IWOTH == 0 || status.st_mode & S_ISVTX != 0 else {
      return .failed(
        "\(found): every user can replace the socket by another one", cure: "chmod o-w \(directory)")
    }
    return .ok(found)
  }

  private func checkAnswer(at path: String) {
    let tried = "call getInfo at \(path)"
    var status = stat()
    guard lstat(path, &status) == 0 else {
      return report.add("socket", tried: tried, .skipped("no sidecar listens there yet"))
    }
    guard status.st_mode & S_IFMT == S_IFSOCK else {
      return report.add(
        "socket", tried: tried,
        .failed("there is a file that is no socket", cure: "move it away, or change listen.path: it is never deleted"))
    }
    var options = SocketOptions()
    options.socket = path
    options.timeout = 2
    do {
      let answer = try CallMethod.exchange(["jsonrpc": "2.0", "id": 1, "method": "getInfo"], options)
      if let version = answer["result"]?["version"]?.stringValue {
        return report.add("socket", tried: tried, .ok("a sidecar of version \(version) answers"))
      }
      let reason = answer["error"]?["data"]?["reason"]?.stringValue ?? "an error"
      let cure = "a rule of `peers` with uid \(geteuid()) and methods: [getInfo] permits it"
      report.add("socket", tried: tried, .warning("a sidecar answers \(reason)", cure: cure))
    } catch {
      report.add(
        "socket", tried: tried,
        .warning("\(error)", cure: "start the sidecar: it replaces a socket on which no process listens"))
    }
  }
}

/// The check of the session store by `postern doctor`. It changes nothing: a store in files is looked at, since opening
/// it locks it, and may encrypt it again.
struct StoreExamination: Sendable {
  private let assembly: StoreAssembly
  private let configuration: StoreConfiguration
  private let report: DoctorReport
  private let number: Int

  init(_ assembly: StoreAssembly, _ configuration: StoreConfiguration, _ report: DoctorReport) {
    self.assembly = assembly
    self.configuration = configuration
    self.report = report
    let tried =
      switch configuration.kind {
      case .memory: "look at the configuration"
      case .file: "look at \(configuration.path)"
      case .redis: "connect to Redis and log in"
      }
    number = report.begin("store (\(configuration.kind.rawValue))", tried: tried)
  }

  func run() async {
    switch configuration.kind {
    case .memory: report.end(number, .ok("sessions end with the sidecar"))
    case .file: report.end(number, Self.fileFinding(configuration.path))
    case .redis: report.end(number, await redisFinding())
    }
  }

  private func redisFinding() async -> DoctorFinding {
    guard let store = assembly.store(report: { _ in }) else {
      return .skipped("there is nothing to open")
    }
    do throws(StoreError) {
      try await store.check()
      return .ok("it can be used, and the key fits")
    } catch {
      return .failed(
        "\(error)", cure: "see store.redis (url, username, passwordFile, caFile), store.keyFile, and whether it runs")
    }
  }

  private static func fileFinding(_ path: String) -> DoctorFinding {
    var status = stat()
    guard stat(path, &status) == 0 else {
      let parent = FileLocations.directory(of: path)
      guard access(parent, W_OK | X_OK) == 0 else {
        return .failed(
          "there is no such directory, and uid \(geteuid()) cannot make it in \(parent)",
          cure: "run this as the sidecar's user; or install -d -m 700 -o USER \(path), or another store.path")
      }
      return .ok("there is none yet; it can be made when the first session is")
    }
    guard status.st_mode & S_IFMT == S_IFDIR else {
      return .failed("it is no directory", cure: "store.path must be a directory")
    }
    guard status.st_uid == geteuid() else {
      return .failed(
        "it belongs to uid \(status.st_uid), not to uid \(geteuid())",
        cure: "run this as the sidecar's user; or chown -R USER \(path)")
    }
    guard status.st_mode & 0o022 == 0 else {
      return .failed(
        "other users can write it (mode \(String(status.st_mode & 0o7777, radix: 8)))", cure: "chmod 700 \(path)")
    }
    return .ok("uid \(geteuid()) can use it; it was not opened, which would lock it")
  }
}
