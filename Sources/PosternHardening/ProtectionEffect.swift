/// Which protections are in force.
public struct ProtectionEffect: Sendable, Equatable {
  /// Whether no program that is executed gains privileges.
  public var noNewPrivileges: Bool
  /// Whether the process's own user may trace and dump it.
  public var isDumpable: Bool
  /// Whether it leaves core dumps.
  public var leavesCoreDumps: Bool
  /// Whether memory that was written cannot become code.
  public var refusesWritableCode: Bool
  /// Landlock's ABI as it is made use of; 0 for none.
  public var landlockABI: Int
  /// Whether Landlock limits files.
  public var limitsFiles: Bool
  /// Whether Landlock limits TCP ports.
  public var limitsPorts: Bool
  /// Whether abstract sockets of others, and signals to others, are forbidden.
  public var isScoped: Bool
  /// Whether system calls are filtered.
  public var filtersSystemCalls: Bool
  /// Whether those are filtered as well that only a start needs.
  public var filtersStartCalls: Bool
}
