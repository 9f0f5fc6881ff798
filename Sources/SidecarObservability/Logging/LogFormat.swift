/// How log lines look.
package enum LogFormat: String, Sendable, Hashable {
  /// One JSON object a line, for machines.
  case json
  /// One readable line, for people.
  case text
}
