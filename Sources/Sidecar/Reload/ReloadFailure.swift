package import PosternConfiguration

/// Why the configuration was not reloaded; the running one stays.
package enum ReloadFailure: Error, Sendable {
  /// The file has problems.
  case problems(ConfigurationProblems)
  /// Another reload is at work.
  case busy
}
