/// How the process protects itself.
public struct HardeningConfiguration: Sendable, Equatable {
  /// Whether nothing is fetched while a debugger is attached. Default true.
  public var debuggerCheck: Bool
  /// Whether the process may leave core dumps, which hold tokens. Default false.
  public var coreDumps: Bool
}

extension HardeningConfiguration: ConfigurationSection {
  init(reading keys: SectionReader) {
    debuggerCheck = keys.value(
      "debuggerCheck", .boolean, default: true, "Whether fetchResource refuses while a debugger is attached.")
    coreDumps = keys.value(
      "coreDumps", .boolean, default: false, "Whether the process may leave core dumps, which hold tokens and keys.")
    if coreDumps { keys.warn("core dumps hold tokens and keys", at: "coreDumps") }
  }
}
