import CPosternLinux
import Glibc

/// The restrictions that this process has placed on itself, which are permanent.
public final class Sandbox: Sendable {
  /// The restrictions to set up.
  public struct Options: Sendable {
    /// The policy for Landlock; nil for no Landlock.
    public var policy: SandboxPolicy?
    /// Whether system calls are filtered.
    public var filtersSystemCalls: Bool
    /// The newest Landlock ABI to use; tests imitate older kernels with it.
    public var newestABI = Int.max

    /// Options of the given parts.
    public init(policy: SandboxPolicy?, filtersSystemCalls: Bool) {
      self.policy = policy
      self.filtersSystemCalls = filtersSystemCalls
    }
  }

  /// Why files and ports are not limited; nil when they are, or Landlock was not requested.
  public let landlockFault: ProtectionFault?
  /// Why system calls are not filtered; nil when they are, or the filter was not requested.
  public let filterFault: ProtectionFault?

  private let options: Options
  private let domain: Landlock.Domain?
  /// The result of testing the rules right after they were set up. They are permanent, so it stays valid when a later
  /// test is not possible for lack of descriptors.
  private let firstTest: (files: Bool, ports: Bool)

  /// Sets up the restrictions in `options` as far as possible. In any case no program that is executed gains
  /// privileges, and, where the kernel supports that, no memory becomes executable after it was written.
  ///
  /// Landlock applies to the calling thread and those it starts: must be called while there is no other.
  public init(_ options: Options) {
    self.options = options
    let privileges = clinux_forbid_new_privileges()
    _ = clinux_forbid_writable_code()
    var landlockFault: ProtectionFault?
    var domain: Landlock.Domain?
    if let policy = options.policy {
      let threads = Self.threadCount()
      do throws(ProtectionFault) {
        guard privileges == 0 else { throw ProtectionFault("prctl(PR_SET_NO_NEW_PRIVS)", privileges) }
        domain = try Landlock.enforce(policy, abi: min(try Landlock.kernelABI(), options.newestABI))
        if threads > 1 {
          throw ProtectionFault("it does not apply to \(threads - 1) threads that were already running")
        }
      } catch {
        landlockFault = error
      }
    }
    self.landlockFault = landlockFault
    self.domain = domain
    firstTest = (
      files: Self.closedDirectory(under: options.policy).flatMap(Self.isClosed) ?? true,
      ports: (domain?.forbiddenPort).flatMap(Self.isClosed) ?? true
    )
    guard options.filtersSystemCalls else {
      filterFault = nil
      return
    }
    let failed = privileges == 0 ? clinux_filter_system_calls() : privileges
    filterFault = failed == 0 ? nil : ProtectionFault("seccomp", failed)
  }

  /// Forbids system calls that are needed only while starting, in all threads: to be called once the process listens.
  /// Loads the libraries that the C library would load on demand first.
  public func endStart() throws(ProtectionFault) {
    LateLibraries.load()
    let failed = clinux_filter_serving_calls()
    guard failed == 0 else { throw ProtectionFault("seccomp", failed) }
  }

  deinit {
    for descriptor in domain?.pinned ?? [] { close(descriptor) }
  }

  /// The restrictions in force now, as reported by the kernel or, where it does not report them, found by trying
  /// something forbidden.
  public var effect: ProtectionEffect {
    ProtectionEffect(
      noNewPrivileges: clinux_new_privileges_are_forbidden() != 0,
      isDumpable: clinux_is_dumpable() != 0,
      leavesCoreDumps: Self.leavesCoreDumps,
      forbidsWritableCode: clinux_writable_code_is_forbidden() != 0,
      landlockABI: domain?.abi ?? 0,
      limitsFiles: domain != nil
        && (Self.closedDirectory(under: options.policy).flatMap(Self.isClosed) ?? firstTest.files),
      limitsPorts: domain.map { $0.limitsPorts && ($0.forbiddenPort.flatMap(Self.isClosed) ?? firstTest.ports) }
        ?? false,
      isScoped: domain?.isScoped ?? false,
      filtersSystemCalls: clinux_system_calls_are_filtered() != 0,
      filtersStartCalls: clinux_serving_calls_are_filtered() != 0)
  }

  /// A directory that the policy forbids to read, for testing whether it is in force.
  private static func closedDirectory(under policy: SandboxPolicy?) -> String? {
    let allowed = policy.map { $0.readable.union($0.writable).union($0.socketDirectories) } ?? []
    return ["/", "/var", "/home", "/opt"].first { directory in
      !allowed.contains("/") && !allowed.contains(directory) && access(directory, R_OK | X_OK) == 0
    }
  }

  /// The number of threads of this process; 1 without `/proc`.
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

  /// Whether the directory cannot be read because of the rules; nil when the test is not possible, for lack of
  /// descriptors for example.
  private static func isClosed(_ directory: String) -> Bool? {
    let descriptor = open(directory, O_RDONLY | O_DIRECTORY | O_CLOEXEC)
    guard descriptor >= 0 else { return errno == EACCES ? true : nil }
    close(descriptor)
    return false
  }

  /// Whether the port cannot be connected to because of the rules, which are checked before anything is sent; nil when
  /// the test is not possible.
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

/// The files and ports that a process in the sandbox may use. All others are forbidden.
public struct SandboxPolicy: Sendable, Equatable {
  /// Files, and directories with everything beneath them, that may be read.
  public var readable: Set<String>
  /// Directories beneath which files may be read but not listed.
  public var openable: Set<String>
  /// Directories beneath which files may be created, written, read and removed.
  public var writable: Set<String>
  /// Directories in which sockets may be created and removed.
  public var socketDirectories: Set<String>
  /// The TCP ports that may be connected to, on every machine; nil for all.
  public var connectPorts: Set<UInt16>?
  /// The TCP ports that may be listened on; 0 stands for any port chosen by the kernel.
  public var bindPorts: Set<UInt16>

  /// A policy of the given parts; by default nothing is permitted.
  public init(
    readable: Set<String> = [], openable: Set<String> = [], writable: Set<String> = [],
    socketDirectories: Set<String> = [],
    connectPorts: Set<UInt16>? = [], bindPorts: Set<UInt16> = []
  ) {
    self.readable = readable
    self.openable = openable
    self.writable = writable
    self.socketDirectories = socketDirectories
    self.connectPorts = connectPorts
    self.bindPorts = bindPorts
  }
}

/// The protections in force.
public struct ProtectionEffect: Sendable, Equatable {
  /// Whether no program that is executed gains privileges.
  public var noNewPrivileges: Bool
  /// Whether the process's own user may trace and dump it.
  public var isDumpable: Bool
  /// Whether it leaves core dumps.
  public var leavesCoreDumps: Bool
  /// Whether memory that was written cannot become executable.
  public var forbidsWritableCode: Bool
  /// The Landlock ABI in use; 0 for none.
  public var landlockABI: Int
  /// Whether Landlock limits files.
  public var limitsFiles: Bool
  /// Whether Landlock limits TCP ports.
  public var limitsPorts: Bool
  /// Whether abstract sockets of other processes, and signals to them, are forbidden.
  public var isScoped: Bool
  /// Whether system calls are filtered.
  public var filtersSystemCalls: Bool
  /// Whether system calls that are needed only while starting are filtered as well.
  public var filtersStartCalls: Bool
}

/// The reason why a protection is not in force.
public struct ProtectionFault: Error, Sendable, Equatable {
  /// Whether the kernel or the container engine does not support it; otherwise it should have worked.
  public let isUnavailable: Bool
  /// The reason, for people.
  public let message: String

  init(isUnavailable: Bool = false, _ message: String) {
    self.isUnavailable = isUnavailable
    self.message = message
  }

  /// The error code of a system call. Those of kernels that lack the feature, and of container engines that forbid it,
  /// mean that it is unavailable.
  init(_ call: String, _ code: Int32) {
    isUnavailable = [ENOSYS, EOPNOTSUPP, EPERM, EINVAL].contains(code)
    message = "\(call): \(String(cString: strerror(code)))"
  }
}
