import PosternJSON
package import PosternProtocol

/// How the process protects itself, for `getInfo` and `health`: what is in force now.
package struct HardeningReport: Sendable, Equatable {
  /// The limits set by Landlock, landlock(7).
  package struct Landlock: Sendable, Equatable {
    /// Its ABI as it is made use of; 0 for none.
    package var abi = 0
    /// Whether it limits files.
    package var limitsFiles = false
    /// Whether it limits TCP ports.
    package var limitsPorts = false
    /// The TCP ports that it lets the process connect to; nil for all.
    package var connectPorts: Set<UInt16>?
    /// Whether abstract sockets of others, and signals to others, are forbidden.
    package var isScoped = false
  }

  /// Whether no program that is executed gains privileges.
  package var noNewPrivileges = false
  /// Whether its own user may trace the process and read its memory.
  package var isDumpable = true
  /// Whether it leaves core dumps.
  package var leavesCoreDumps = true
  /// Whether memory that was written can become code.
  package var allowsWritableCode = true
  /// The limits set by Landlock.
  package var landlock = Landlock()
  /// Whether system calls are filtered.
  package var filtersSystemCalls = false
  /// Bytes of memory for secrets that cannot be swapped out.
  package var lockedBytes = 0
  /// Bytes of memory for secrets that can.
  package var unlockedBytes = 0
  /// The protections that are not in force, with the reason.
  package var missing: [String] = []
  /// The protections that should be in force and are not; a part of `missing`.
  package var faults: [String] = []

  /// A process that does not protect itself.
  package init() {}

  package var info: GetInfo.Hardening {
    GetInfo.Hardening(
      noNewPrivileges: noNewPrivileges, dumpable: isDumpable, coreDumps: leavesCoreDumps,
      writableCode: allowsWritableCode,
      landlock: GetInfo.Landlock(
        abi: landlock.abi, fileSystem: landlock.limitsFiles, network: landlock.limitsPorts, scope: landlock.isScoped),
      seccomp: filtersSystemCalls,
      lockedMemory: GetInfo.LockedMemory(lockedBytes: lockedBytes, unlockedBytes: unlockedBytes), missing: missing)
  }

  /// The check of `health`: a protection that is not configured, or that the kernel does not have, is no fault.
  package var check: Health.Check {
    guard faults.isEmpty else { return Health.Check(status: .degraded, detail: faults.joined(separator: "; ")) }
    return Health.Check(status: .ok, detail: missing.isEmpty ? nil : missing.joined(separator: "; "))
  }
}
