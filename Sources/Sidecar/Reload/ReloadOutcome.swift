package import PosternConfiguration

/// Why the configuration was not reloaded; the running one stays.
package enum ReloadFailure: Error, Sendable {
  /// The file has problems.
  case problems(ConfigurationProblems)
  /// Another reload is at work.
  case busy
}

/// The phase of a reload, for the service manager.
package enum ReloadPhase: Sendable, Hashable {
  /// The configuration is being read.
  case began
  /// The new configuration is in force.
  case succeeded
  /// The configuration before it stays in force, for this reason.
  case failed(String)
}
