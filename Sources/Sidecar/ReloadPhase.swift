/// How far a reload is, for whoever looks after the process.
public enum ReloadPhase: Sendable, Hashable {
  /// The configuration is being read.
  case began
  /// The new configuration is in force.
  case succeeded
  /// The configuration before it stays in force, for this reason.
  case failed(String)
}
