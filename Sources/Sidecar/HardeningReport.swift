import PosternJSON
import PosternProtocol

/// How the process protects itself, for `getInfo` and `health`: what is in force now.
public struct HardeningReport: Sendable, Equatable {
  /// Whether no program that is executed gains privileges.
  public var noNewPrivileges = false
  /// Whether its own user may trace the process and read its memory.
  public var isDumpable = true
  /// Whether it leaves core dumps.
  public var leavesCoreDumps = true
  /// Whether memory that was written can become code.
  public var allowsWritableCode = true
  /// Landlock's ABI as it is made use of; 0 for none.
  public var landlockABI = 0
  /// Whether Landlock limits files.
  public var limitsFiles = false
  /// Whether Landlock limits TCP ports.
  public var limitsPorts = false
  /// Whether abstract sockets of others, and signals to others, are forbidden.
  public var isScoped = false
  /// Whether system calls are filtered.
  public var filtersSystemCalls = false
  /// Bytes of memory for secrets that cannot be swapped out.
  public var lockedBytes = 0
  /// Bytes of memory for secrets that can.
  public var unlockedBytes = 0
  /// What is not in force, and why.
  public var missing: [String] = []
  /// What should be in force and is not; some of what is `missing`, or none of it.
  public var faults: [String] = []

  /// A process that does not protect itself.
  public init() {}

  var info: GetInfo.Hardening {
    GetInfo.Hardening(
      noNewPrivileges: noNewPrivileges, dumpable: isDumpable, coreDumps: leavesCoreDumps,
      writableCode: allowsWritableCode,
      landlock: GetInfo.Landlock(abi: landlockABI, fileSystem: limitsFiles, network: limitsPorts, scope: isScoped),
      seccomp: filtersSystemCalls,
      lockedMemory: GetInfo.LockedMemory(lockedBytes: lockedBytes, unlockedBytes: unlockedBytes), missing: missing)
  }

  /// What `health` says of it: what nobody asked for, or the kernel does not offer, is no fault.
  var check: Health.Check {
    guard faults.isEmpty else { return Health.Check(status: .degraded, detail: faults.joined(separator: "; ")) }
    return Health.Check(status: .ok, detail: missing.isEmpty ? nil : missing.joined(separator: "; "))
  }
}
