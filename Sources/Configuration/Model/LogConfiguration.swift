/// Logging.
public struct LogConfiguration: Sendable, Equatable {
  /// How much is logged.
  public enum Level: String, Sendable, Hashable, CaseIterable {
    /// Everything, message by message.
    case trace
    /// What helps to find a fault.
    case debug
    /// One line for each request.
    case info
    /// Unusual, but right.
    case notice
    /// Wrong, but survived.
    case warning
    /// Something failed.
    case error
    /// The process cannot go on.
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
}

extension LogConfiguration: ConfigurationSection {
  init(reading keys: SectionReader) {
    level = keys.value(
      "level", .choice(Level.self, placeholder: .info), default: .info, "Lowest level that is logged.")
    format = keys.value(
      "format", .choice(Format.self, placeholder: .json), default: .json, "json: one object a line; text: for people.")
  }
}
