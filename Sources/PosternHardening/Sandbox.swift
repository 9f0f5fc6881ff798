import CPosternLinux
import Glibc

/// The protections that a process has given itself. None of them can be taken back.
public final class Sandbox: Sendable {
  /// Which of them, and what stays allowed.
  public struct Wish: Sendable {
    /// What stays allowed under Landlock; nil for no Landlock.
    public var policy: SandboxPolicy?
    /// Whether system calls are filtered.
    public var filtersSystemCalls: Bool
    /// The newest ABI of Landlock that is made use of; tests see with it what older kernels do.
    public var newestABI = Int.max

    /// A wish of these parts.
    public init(policy: SandboxPolicy?, filtersSystemCalls: Bool) {
      self.policy = policy
      self.filtersSystemCalls = filtersSystemCalls
    }
  }

  /// Why files and ports are not limited; nil when they are, or nobody wished it.
  public let landlockFault: ProtectionFault?
  /// Why system calls are not filtered; nil when they are, or nobody wished it.
  public let filterFault: ProtectionFault?
  /// What was wished.
  public let wish: Wish

  private let domain: Landlock.Domain?
  /// What a look showed when the rules had just been set up. They cannot be taken back: that is still so when a later
  /// look cannot be taken, as descriptors have run out.
  private let firstLook: (files: Bool, ports: Bool)

  /// Gives the process what `wish` says, as far as that can be done, and in any case that no program it executes gains
  /// privileges, and no memory becomes executable after it was written (where the kernel offers that).
  ///
  /// Landlock holds for the calling thread and those it starts: to be called while there is no other.
  public init(_ wish: Wish) {
    self.wish = wish
    let privileges = clinux_forbid_new_privileges()
    _ = clinux_forbid_writable_code()
    var landlockFault: ProtectionFault?
    var domain: Landlock.Domain?
    if let policy = wish.policy {
      let threads = Self.threadCount()
      do throws(ProtectionFault) {
        guard privileges == 0 else { throw ProtectionFault("prctl(PR_SET_NO_NEW_PRIVS)", privileges) }
        domain = try Landlock.enforce(policy, abi: min(try Landlock.kernelABI(), wish.newestABI))
        if threads > 1 { throw ProtectionFault("\(threads - 1) threads were running before, and are not under it") }
      } catch {
        landlockFault = error
      }
    }
    self.landlockFault = landlockFault
    self.domain = domain
    firstLook = (
      files: Self.closedDirectory(under: wish.policy).flatMap(Self.isClosed) ?? true,
      ports: (domain?.forbiddenPort).flatMap(Self.isClosed) ?? true
    )
    guard wish.filtersSystemCalls else {
      filterFault = nil
      return
    }
    let failed = privileges == 0 ? clinux_filter_system_calls() : privileges
    filterFault = failed == 0 ? nil : ProtectionFault("seccomp", failed)
  }

  /// Gives up what only a start needs, in all threads: to be called when the process has started, and listens.
  /// Libraries that the C library would load later are loaded before.
  public func endStart() throws(ProtectionFault) {
    LateLibraries.load()
    let failed = clinux_filter_serving_calls()
    guard failed == 0 else { throw ProtectionFault("seccomp", failed) }
  }

  deinit {
    for descriptor in domain?.pinned ?? [] { close(descriptor) }
  }

  /// What holds now: the kernel is asked, and where it tells nothing something forbidden is tried.
  public var effect: ProtectionEffect {
    ProtectionEffect(
      noNewPrivileges: clinux_new_privileges_are_forbidden() != 0,
      isDumpable: clinux_is_dumpable() != 0,
      leavesCoreDumps: Self.leavesCoreDumps,
      refusesWritableCode: clinux_writable_code_is_forbidden() != 0,
      landlockABI: domain?.abi ?? 0,
      limitsFiles: domain != nil
        && (Self.closedDirectory(under: wish.policy).flatMap(Self.isClosed) ?? firstLook.files),
      limitsPorts: domain.map { $0.limitsPorts && ($0.forbiddenPort.flatMap(Self.isClosed) ?? firstLook.ports) }
        ?? false,
      isScoped: domain?.isScoped ?? false,
      filtersSystemCalls: clinux_system_calls_are_filtered() != 0,
      filtersStartCalls: clinux_serving_calls_are_filtered() != 0)
  }

  /// A directory that may not be read, to look whether that holds.
  private static func closedDirectory(under policy: SandboxPolicy?) -> String? {
    let allowed = policy.map { $0.readable.union($0.writable).union($0.socketDirectories) } ?? []
    return ["/", "/var", "/home", "/opt"].first { directory in
      !allowed.contains("/") && !allowed.contains(directory) && access(directory, R_OK | X_OK) == 0
    }
  }

  /// How many threads this process has; 1 where `/proc` is not there to tell.
  private static func threadCount() -> Int {
    guard let directory = opendir("/proc/self/task") else { return 1 }
    defer { closedir(directory) }
    var count = 0
    while let entry = readdir(directory) { if entry.pointee.d_name.0 != CChar(UInt8(ascii: ".")) { count += 1 } }
    return max(count, 1)
  }

  private static var leavesCoreDumps: Bool {
    var limit = rlimit()
    guard getrlimit(__rlimit_resource_t(RLIMIT_CORE.rawValue), &limit) == 0 else { return true }
    return limit.rlim_cur > 0 && clinux_is_dumpable() != 0
  }

  /// Nil where that cannot be told: a look takes a descriptor and memory.
  private static func isClosed(_ directory: String) -> Bool? {
    let descriptor = open(directory, O_RDONLY | O_DIRECTORY | O_CLOEXEC)
    guard descriptor >= 0 else { return errno == EACCES ? true : nil }
    close(descriptor)
    return false
  }

  /// Nothing is sent where the rule holds: it is asked before. Nil where that cannot be told.
  private static func isClosed(_ port: UInt16) -> Bool? {
    let type = CInt(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue | SOCK_NONBLOCK.rawValue)
    let descriptor = socket(AF_INET, type, 0)
    guard descriptor >= 0 else { return nil }
    defer { close(descriptor) }
    var address = sockaddr_in()
    address.sin_family = sa_family_t(AF_INET)
    address.sin_port = port.bigEndian
    address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
    return withUnsafePointer(to: &address) { pointer in
      pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
        connect(descriptor, $0, socklen_t(MemoryLayout<sockaddr_in>.size)) < 0 && errno == EACCES
      }
    }
  }
}
