extension GetInfo {
  /// How the process protects itself: the protections that are in force, not the configured ones.
  public struct Hardening: RPCObject {
    public let noNewPrivileges: Bool
    public let dumpable: Bool
    public let coreDumps: Bool
    public let writableCode: Bool
    public let landlock: Landlock
    public let seccomp: Bool
    public let lockedMemory: LockedMemory
    public let missing: [String]

    /// Protections as they are.
    public init(
      noNewPrivileges: Bool, dumpable: Bool, coreDumps: Bool, writableCode: Bool, landlock: Landlock, seccomp: Bool,
      lockedMemory: LockedMemory, missing: [String]
    ) {
      self.noNewPrivileges = noNewPrivileges
      self.dumpable = dumpable
      self.coreDumps = coreDumps
      self.writableCode = writableCode
      self.landlock = landlock
      self.seccomp = seccomp
      self.lockedMemory = lockedMemory
      self.missing = missing
    }

    public static let memberDocs = [
      "noNewPrivileges": "Whether no program that is executed can gain privileges",
      "dumpable": "Whether its own user may trace the process and read its memory",
      "coreDumps": "Whether the process leaves core dumps",
      "writableCode": "Whether memory that was written can become code",
      "landlock": "Limits for files, TCP ports and what lies outside of the process",
      "seccomp": "Whether system calls that it never needs are forbidden",
      "lockedMemory": "The memory that secrets are kept in",
      "missing": "Protections that are not in force, with the reason",
    ]
  }

  /// Limits by Landlock, landlock(7).
  public struct Landlock: RPCObject {
    public let abi: Int
    public let fileSystem: Bool
    public let network: Bool
    public let scope: Bool

    /// Limits as they are.
    public init(abi: Int, fileSystem: Bool, network: Bool, scope: Bool) {
      self.abi = abi
      self.fileSystem = fileSystem
      self.network = network
      self.scope = scope
    }

    public static let memberDocs = [
      "abi": "The ABI that is made use of; 0 when there is none",
      "fileSystem": "Whether only the files can be read and written that the configuration needs",
      "network": "Whether only the TCP ports can be connected to and listened on that the configuration needs",
      "scope": "Whether abstract sockets of other processes, and signals to them, are forbidden",
    ]
  }

  /// The memory that secrets are kept in.
  public struct LockedMemory: RPCObject {
    public let lockedBytes: Int
    public let unlockedBytes: Int

    /// Memory as it is.
    public init(lockedBytes: Int, unlockedBytes: Int) {
      self.lockedBytes = lockedBytes
      self.unlockedBytes = unlockedBytes
    }

    public static let memberDocs = [
      "lockedBytes": "How much of it can never be in the swap space",
      "unlockedBytes": "How much of it could be",
    ]
  }
}
