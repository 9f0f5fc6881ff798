/// How log lines look.
public enum LogFormat: String, Sendable, Hashable {
  /// One JSON object a line, for machines.
  case json
  /// One readable line, for people.
  case text
}
