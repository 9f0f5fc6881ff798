/// The state that all sections of one reading share: the problems found so far, the positions of all values, and the
/// world outside the file.
///
/// Used by one thread from the beginning of a reading to its end.
package final class ReadingContext {
  /// A finding that still has to be tied to the file's name.
  package struct Finding {
    /// The position.
    package var origin: SourceOrigin
    /// The key.
    package var path: ConfigurationPath
    /// The message.
    package var message: String
  }

  /// The errors.
  package private(set) var problems: [Finding] = []
  /// The warnings.
  package private(set) var warnings: [Finding] = []
  /// The URLs that may begin with `http://`.
  package let plainHTTP: PlainHTTPPermission
  /// Where files and variables come from.
  package let dependencies: ConfigurationDependencies
  /// The TCP ports of URLs, each with a key that has one.
  package private(set) var ports: [UInt16: String] = [:]
  /// Whether keys are described instead of read: a reading makes no descriptions.
  let isDescribing: Bool
  /// The sections that are left out, made once: a large configuration leaves very many out.
  private var defaultSections: [ObjectIdentifier: any ConfigurationSection] = [:]
  /// The value that is being read.
  private var current = ConfigurationPath()
  private var origins: [ConfigurationPath: SourceOrigin] = [:]

  /// A context for one reading.
  package init(
    dependencies: ConfigurationDependencies, plainHTTP: PlainHTTPPermission = .none, isDescribing: Bool = false
  ) {
    self.isDescribing = isDescribing
    self.dependencies = dependencies
    self.plainHTTP = plainHTTP
  }

  /// A context for describing the schema, in which nothing is read.
  package static func describing() -> ReadingContext {
    ReadingContext(dependencies: .none, isDescribing: true)
  }

  /// The section of that type as it is when it is left out.
  func defaultSection<Section: ConfigurationSection>() -> Section {
    let type = ObjectIdentifier(Section.self)
    if let known = defaultSections[type] as? Section { return known }
    let section = Section(reading: SectionReader(nil, at: ConfigurationPath(), in: self))
    defaultSections[type] = section
    return section
  }

  /// Records the position of the value at `path`.
  package func record(_ path: ConfigurationPath, at origin: SourceOrigin) {
    origins[path] = origin
    current = path
  }

  /// Records that the value that is being read refers to `port`.
  package func note(port: UInt16) {
    if ports[port] == nil { ports[port] = current.description }
  }

  /// The position of the value at `path`; for a missing key, that of its section.
  package func origin(of path: ConfigurationPath) -> SourceOrigin {
    var path = path
    while true {
      if let origin = origins[path] { return origin }
      guard !path.steps.isEmpty else { return .unknown }
      path.steps.removeLast()
    }
  }

  /// Records an error; without `origin` at the position of `path`.
  package func problem(_ message: String, at path: ConfigurationPath, origin: SourceOrigin? = nil) {
    problems.append(Finding(origin: origin ?? self.origin(of: path), path: path, message: message))
  }

  /// Records a warning at the position of `path`.
  package func warn(_ message: String, at path: ConfigurationPath) {
    warnings.append(Finding(origin: origin(of: path), path: path, message: message))
  }
}
