import CPosternLinux
import Glibc

/// Landlock (landlock(7)): permanent rules for files, TCP ports, abstract sockets and signals.
enum Landlock {
  /// The rules in force for this process.
  struct Domain: Sendable {
    /// The Landlock ABI in use.
    var abi: Int
    /// Whether the rules limit TCP ports (ABI 4).
    var limitsPorts: Bool
    /// Whether the rules forbid abstract sockets of other processes and signals to them (ABI 6).
    var isScoped: Bool
    /// A port that the rules forbid, for testing whether they are in force.
    var forbiddenPort: UInt16?
    /// Open descriptors of directories in `/proc`, without which the kernel might create these again, unknown to the
    /// rules.
    var pinned: [CInt]
  }

  /// The ABI of this kernel.
  static func kernelABI() throws(ProtectionFault) -> Int {
    let abi = clinux_landlock_abi()
    guard abi > 0 else {
      switch -abi {
      case ENOSYS: throw ProtectionFault(isUnavailable: true, "this kernel has no Landlock")
      case EOPNOTSUPP: throw ProtectionFault(isUnavailable: true, "Landlock is switched off in this kernel")
      case EPERM, EACCES:
        throw ProtectionFault(
          isUnavailable: true, "Landlock is not permitted to this process, by a seccomp filter for example")
      default: throw ProtectionFault("landlock_create_ruleset", -abi)
      }
    }
    return Int(abi)
  }

  /// Enforces `policy` for the calling thread and the threads it starts from now on. `abi` is the newest ABI to use.
  static func enforce(_ policy: SandboxPolicy, abi: Int) throws(ProtectionFault) -> Domain {
    let limitsPorts = abi >= 4
    let network: UInt64 =
      limitsPorts ? (policy.connectPorts == nil ? 0 : connect) | UInt64(CLINUX_LANDLOCK_BIND_TCP) : 0
    let scope =
      abi >= 6 ? UInt64(CLINUX_LANDLOCK_SCOPE_ABSTRACT_UNIX | CLINUX_LANDLOCK_SCOPE_SIGNAL) : 0
    let rules = clinux_landlock_rules(fileRights(abi), network, scope)
    guard rules >= 0 else { throw ProtectionFault("landlock_create_ruleset", -rules) }
    defer { close(rules) }
    var pinned: [CInt] = []
    do throws(ProtectionFault) {
      for (path, rights) in rights(policy, abi) {
        let descriptor = clinux_landlock_open(path)
        // A path that does not exist or is not accessible stays inaccessible without a rule.
        guard descriptor >= 0 else { continue }
        pinned.append(descriptor)
        try allow(rights, beneath: descriptor, path, rules)
        // The kernel may evict a process's directory in /proc and create it again, unknown to the rules, unless a
        // descriptor of it is open.
        if !path.hasPrefix("/proc/") { close(pinned.removeLast()) }
      }
      if limitsPorts {
        for port in policy.bindPorts { try allow(UInt64(CLINUX_LANDLOCK_BIND_TCP), port, rules) }
        for port in policy.connectPorts ?? [] { try allow(connect, port, rules) }
      }
      let failed = clinux_landlock_enforce(rules)
      guard failed == 0 else { throw ProtectionFault("landlock_restrict_self", failed) }
    } catch {
      for descriptor in pinned { close(descriptor) }
      throw error
    }
    return Domain(
      abi: abi, limitsPorts: limitsPorts && policy.connectPorts != nil, isScoped: scope != 0,
      forbiddenPort: policy.connectPorts.flatMap { allowed in (1...UInt16.max).first { !allowed.contains($0) } },
      pinned: pinned)
  }

  private static func rights(_ policy: SandboxPolicy, _ abi: Int) -> [(path: String, rights: UInt64)] {
    let all = fileRights(abi)
    let reading = UInt64(CLINUX_LANDLOCK_READ_FILE | CLINUX_LANDLOCK_READ_DIR)
    let writing =
      reading
      | UInt64(
        CLINUX_LANDLOCK_WRITE_FILE | CLINUX_LANDLOCK_TRUNCATE | CLINUX_LANDLOCK_MAKE_REG
          | CLINUX_LANDLOCK_REMOVE_FILE)
    let sockets = UInt64(
      CLINUX_LANDLOCK_READ_DIR | CLINUX_LANDLOCK_MAKE_SOCK | CLINUX_LANDLOCK_REMOVE_FILE)
    return policy.readable.sorted().map { ($0, reading) }
      + policy.openable.sorted().map { ($0, UInt64(CLINUX_LANDLOCK_READ_FILE)) }
      + policy.writable.sorted().map { ($0, writing & all) }
      + policy.socketDirectories.sorted().map { ($0, sockets) }
  }

  private static func allow(
    _ rights: UInt64, beneath descriptor: CInt, _ path: String, _ rules: CInt
  ) throws(ProtectionFault) {
    var status = stat()
    guard fstat(descriptor, &status) == 0 else { throw ProtectionFault("fstat", errno) }
    let isDirectory = status.st_mode & S_IFMT == S_IFDIR
    let failed = clinux_landlock_allow_path(rules, descriptor, isDirectory ? rights : rights & ofFiles)
    // EBADFD: not a file in a file system, such as a socket.
    guard failed == 0 || failed == EBADFD else { throw ProtectionFault("landlock_add_rule(\(path))", failed) }
  }

  private static func allow(_ right: UInt64, _ port: UInt16, _ rules: CInt) throws(ProtectionFault) {
    let failed = clinux_landlock_allow_port(rules, port, right)
    guard failed == 0 else { throw ProtectionFault("landlock_add_rule(port \(port))", failed) }
  }

  private static var connect: UInt64 { UInt64(CLINUX_LANDLOCK_CONNECT_TCP) }

  /// All rights on files that this ABI can restrict.
  private static func fileRights(_ abi: Int) -> UInt64 {
    let first = UInt64(CLINUX_LANDLOCK_MAKE_SYM) * 2 - 1
    return first | (abi >= 2 ? UInt64(CLINUX_LANDLOCK_REFER) : 0)
      | (abi >= 3 ? UInt64(CLINUX_LANDLOCK_TRUNCATE) : 0)
      | (abi >= 5 ? UInt64(CLINUX_LANDLOCK_IOCTL_DEV) : 0)
  }

  /// The rights that a rule for a single file may have.
  private static let ofFiles = UInt64(
    CLINUX_LANDLOCK_READ_FILE | CLINUX_LANDLOCK_WRITE_FILE | CLINUX_LANDLOCK_TRUNCATE)
}
