import PosternJSON

/// How the process protects itself.
public struct HardeningConfiguration: Sendable, Equatable {
  /// How much a protection is wanted that not every kernel offers.
  public enum Protection: String, Sendable, Hashable, CaseIterable {
    /// Where it can be had.
    case auto
    /// Nothing is served without it.
    case required
    /// Not at all.
    case off
  }

  /// Whether nothing is fetched while a debugger is attached. Default true.
  public var debuggerCheck: Bool
  /// Whether the process may leave core dumps, which hold tokens. Default false.
  public var coreDumps: Bool
  /// Whether files, TCP ports and what lies outside of the process are limited (landlock(7)). Default `auto`.
  public var landlock: Protection
  /// Whether system calls that are never needed are forbidden (seccomp(2)). Default `auto`.
  public var seccomp: Protection
  /// Whether secrets are kept out of the swap space (mlock(2)). Default `auto`.
  public var lockedMemory: Protection
  /// Whether every issuer, resource and decision point must have pins. Default false.
  public var pinsRequired: Bool
  /// TCP ports that may be connected to in addition to those of the configuration's URLs, and 443.
  public var connectPorts: [Int]
}

extension HardeningConfiguration: ConfigurationSection {
  package init(reading keys: SectionReader) {
    debuggerCheck = keys.value(
      "debuggerCheck", .boolean, default: true, "Whether fetchResource fails while a debugger is attached.")
    coreDumps = keys.value(
      "coreDumps", .boolean, default: false, "Whether the process may leave core dumps, which hold tokens and keys.")
    landlock = keys.value(
      "landlock", .choice(Protection.self, placeholder: .auto), default: .auto,
      "Whether files and TCP ports are limited to what this configuration names; required: no start where the kernel cannot."
    )
    seccomp = keys.value(
      "seccomp", .choice(Protection.self, placeholder: .auto), default: .auto,
      "Whether system calls that the sidecar never needs are forbidden; required: no start where the kernel cannot.")
    lockedMemory = keys.value(
      "lockedMemory", .choice(Protection.self, placeholder: .auto), default: .auto,
      "Whether secrets are kept out of the swap space; required: no start where RLIMIT_MEMLOCK does not suffice.")
    pinsRequired = keys.value(
      "pinsRequired", .boolean, default: false,
      """
      Whether every issuer, resource and decision point must have tls.pins. No request is sent without pins then, except to the collector \
      of telemetry, which gets no tokens.
      """)
    connectPorts = keys.list(
      "connectPorts", of: .integer(1...65535), default: [],
      """
      TCP ports that may be connected to in addition to those of the URLs in this file, 443 and DNS: for example those of endpoints that \
      only an issuer's metadata names.
      """,
      example: .commented([8443]))
    if landlock == .off, !connectPorts.isEmpty {
      keys.warn("has no effect with landlock: off, which limits no ports", at: "connectPorts")
    }
    if coreDumps { keys.warn("core dumps hold tokens and keys", at: "coreDumps") }
  }
}
