/// What all sections of one reading share: the problems found so far, where everything stood, and the world outside the
/// file.
///
/// Used by one thread from the beginning of a reading to its end.
final class ReadingContext {
  /// A finding that still has to be tied to the file's name.
  struct Finding {
    /// Where.
    var origin: SourceOrigin
    /// At which key.
    var path: ConfigurationPath
    /// What.
    var message: String
  }

  /// What is wrong.
  private(set) var problems: [Finding] = []
  /// What deserves a look.
  private(set) var warnings: [Finding] = []
  /// Whether `http://` is allowed on loopback addresses (`development.plainHTTPOnLoopback`).
  let allowsPlainHTTPOnLoopback: Bool
  /// Where files and variables come from.
  let surroundings: ConfigurationDependencies
  /// The TCP ports of URLs, each with a key that has one.
  private(set) var ports: [UInt16: String] = [:]
  /// The value that is being read.
  private var current = ConfigurationPath()
  private var origins: [ConfigurationPath: SourceOrigin] = [:]

  /// A context for one reading.
  init(surroundings: ConfigurationDependencies, allowsPlainHTTPOnLoopback: Bool) {
    self.surroundings = surroundings
    self.allowsPlainHTTPOnLoopback = allowsPlainHTTPOnLoopback
  }

  /// A context for describing the schema, in which nothing is read.
  static func describing() -> ReadingContext {
    ReadingContext(surroundings: .none, allowsPlainHTTPOnLoopback: false)
  }

  /// Remembers where the value at `path` stands.
  func place(_ path: ConfigurationPath, at origin: SourceOrigin) {
    origins[path] = origin
    current = path
  }

  /// Remembers that the value that is being read leads to `port`.
  func note(port: UInt16) {
    if ports[port] == nil { ports[port] = current.description }
  }

  /// Where the value at `path` stands; for a key that is not there, where its section stands.
  func origin(of path: ConfigurationPath) -> SourceOrigin {
    var path = path
    while true {
      if let origin = origins[path] { return origin }
      guard !path.steps.isEmpty else { return .unknown }
      path.steps.removeLast()
    }
  }

  /// Notes a problem; without `origin` at the place of `path`.
  func problem(_ message: String, at path: ConfigurationPath, origin: SourceOrigin? = nil) {
    problems.append(Finding(origin: origin ?? self.origin(of: path), path: path, message: message))
  }

  /// Notes a warning at the place of `path`.
  func warn(_ message: String, at path: ConfigurationPath) {
    warnings.append(Finding(origin: origin(of: path), path: path, message: message))
  }
}
