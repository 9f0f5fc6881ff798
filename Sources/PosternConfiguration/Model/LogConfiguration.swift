/// Logging.
public struct LogConfiguration: Sendable, Equatable {
  /// How much is logged.
  public enum Level: String, Sendable, Hashable, CaseIterable {
    /// Everything, message by message.
    case trace
    /// Details for debugging.
    case debug
    /// One line for each request.
    case info
    /// Unusual, but right.
    case notice
    /// Wrong, but survived.
    case warning
    /// Something failed.
    case error
    /// The process cannot continue.
    case critical
  }

  /// How a line looks.
  public enum Format: String, Sendable, Hashable, CaseIterable {
    /// One JSON object a line.
    case json
    /// For people.
    case text
  }

  /// The lowest level that is logged. Default `info`.
  public var level: Level
  /// The form of the lines. Default `json`.
  public var format: Format
  /// Whether each call is logged at `info`. Default false.
  public var access: Bool
}

extension LogConfiguration: ConfigurationSection {
  init(reading keys: SectionReader) {
    level = keys.value(
      "level", .choice(Level.self, placeholder: .info), default: .info, "Lowest level that is logged.")
    format = keys.value(
      "format", .choice(Format.self, placeholder: .json), default: .json, "json: one object a line; text: for people.")
    access = keys.value(
      "access", .boolean, default: false,
      "Whether each call is a line at info, with its sizes; else it is one at debug, without.")
  }
}
