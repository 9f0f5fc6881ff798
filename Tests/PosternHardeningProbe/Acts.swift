import CPosternLinux
import Glibc

/// The operations that the probe can try. The result is `ok` or the number of the error.
enum Acts {
  private typealias SystemCall = @convention(c) (Int, Int, Int, Int, Int, Int, Int) -> Int
  private typealias ProcessControl = @convention(c) (CInt, UInt, UInt, UInt, UInt) -> CInt

  /// A function of the C library that Swift cannot call, as it is variadic.
  private static func function<Function>(_ name: String) -> Function? {
    dlsym(nil, name).map { unsafeBitCast($0, to: Function.self) }
  }

  static func perform(_ act: String, _ arguments: [String]) -> String {
    let first = arguments.first ?? ""
    switch act {
    case "read": return opened(open(first, O_RDONLY))
    case "list": return opened(open(first, O_RDONLY | O_DIRECTORY))
    case "write": return opened(open(first, O_WRONLY))
    case "create": return opened(open(first, O_WRONLY | O_CREAT | O_EXCL, 0o600))
    case "truncate": return result(Glibc.truncate(first, 0))
    case "remove": return result(unlink(first))
    case "rename": return result(rename(first, arguments[1]))
    case "load": return dlopen(first, RTLD_NOW) != nil ? "ok" : "not loaded"
    case "connect": return connect(to: UInt16(first) ?? 0)
    case "fastopen": return fastOpen(to: UInt16(first) ?? 0)
    case "bind": return bound(to: UInt16(first) ?? 0)
    case "abstract": return connect(toAbstract: first)
    case "unix": return bind(toPath: first)
    case "socket": return opened(socket(CInt(first) ?? 0, CInt(arguments[1]) ?? 0, CInt(arguments[2]) ?? 0))
    case "signal": return result(kill(pid_t(first) ?? 0, 0))
    case "raise": return result(kill(getpid(), 0))
    case "call": return called(arguments.compactMap { Int($0) })
    case "execute": return executed(first)
    case "thread": return threaded()
    case "thread-status": return threadStatus()
    case "writable-code": return result(writableCode())
    case "dumpable": return result(dumpableAgain())
    case "memory-code": return mapped(memory())
    case "file-code": return mapped(open(first, O_RDONLY))
    case "mode": return result(chmod(first, 0o640))
    case "own-mode": return result(fchmod(open(first, O_RDONLY), mode_t(arguments[1], radix: 8) ?? 0))
    case "owner": return result(chown(first, getuid(), getgid()))
    case "times": return result(utimensat(AT_FDCWD, first, nil, 0))
    case "link": return result(symlink("elsewhere", first))
    case "enter": return result(chdir(first))
    case "resolve": return resolved(first)
    case "hold":
      _ = clinux_forbid_dumps()
      print("holding")
      fflush(nil)
      pause()
      return "ok"
    default: return "unknown act"
    }
  }

  private static func result(_ status: CInt) -> String { status >= 0 ? "ok" : "\(errno)" }

  private static func opened(_ descriptor: CInt) -> String {
    guard descriptor >= 0 else { return "\(errno)" }
    close(descriptor)
    return "ok"
  }

  private static func loopback(_ port: UInt16) -> sockaddr_in {
    var address = sockaddr_in()
    address.sin_family = sa_family_t(AF_INET)
    address.sin_port = port.bigEndian
    address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
    return address
  }

  private static func with(
    _ address: sockaddr_in, _ body: (UnsafePointer<sockaddr>, socklen_t) -> CInt
  ) -> CInt {
    var address = address
    return withUnsafePointer(to: &address) { pointer in
      pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
        body($0, socklen_t(MemoryLayout<sockaddr_in>.size))
      }
    }
  }

  private static func connect(to port: UInt16) -> String {
    let descriptor = socket(AF_INET, CInt(SOCK_STREAM.rawValue), 0)
    return result(with(loopback(port)) { Glibc.connect(descriptor, $0, $1) })
  }

  private static func fastOpen(to port: UInt16) -> String {
    let descriptor = socket(AF_INET, CInt(SOCK_STREAM.rawValue), 0)
    let flags: CInt = 0x2000_0000
    return result(with(loopback(port)) { CInt(sendto(descriptor, "x", 1, flags, $0, $1)) })
  }

  private static func bound(to port: UInt16) -> String {
    let descriptor = socket(AF_INET, CInt(SOCK_STREAM.rawValue), 0)
    return result(with(loopback(port)) { Glibc.bind(descriptor, $0, $1) })
  }

  private static func unix(_ bytes: [UInt8], _ body: (UnsafePointer<sockaddr>, socklen_t) -> CInt) -> CInt {
    var name = sockaddr_un()
    name.sun_family = sa_family_t(AF_UNIX)
    withUnsafeMutableBytes(of: &name.sun_path) { $0.copyBytes(from: bytes) }
    return withUnsafePointer(to: &name) { pointer in
      pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
        body($0, socklen_t(MemoryLayout<sa_family_t>.size + bytes.count))
      }
    }
  }

  private static func connect(toAbstract name: String) -> String {
    let descriptor = socket(AF_UNIX, CInt(SOCK_STREAM.rawValue), 0)
    return result(unix([0] + Array(name.utf8)) { Glibc.connect(descriptor, $0, $1) })
  }

  private static func bind(toPath path: String) -> String {
    let descriptor = socket(AF_UNIX, CInt(SOCK_STREAM.rawValue), 0)
    return result(unix(Array(path.utf8)) { Glibc.bind(descriptor, $0, $1) })
  }

  /// Makes a system call by its number, with arguments that make none succeed by accident.
  private static func called(_ numbers: [Int]) -> String {
    let given = Array(numbers.dropFirst()) + [0, 0, 0, 0, 0, 0]
    guard let call: SystemCall = function("syscall") else { return "no syscall" }
    return result(
      CInt(truncatingIfNeeded: call(numbers[0], given[0], given[1], given[2], given[3], given[4], given[5])))
  }

  /// A file in memory, of one page.
  private static func memory() -> CInt {
    guard let create: @convention(c) (UnsafePointer<CChar>, CUnsignedInt) -> CInt = function("memfd_create") else {
      return -1
    }
    let file = create("code", 0)
    if file >= 0 { ftruncate(file, 4096) }
    return file
  }

  private static func mapped(_ file: CInt) -> String {
    guard file >= 0 else { return "\(errno)" }
    return mmap(nil, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE, file, 0) != MAP_FAILED ? "ok" : "\(errno)"
  }

  private static func executed(_ path: String) -> String {
    var process = pid_t()
    var arguments: [UnsafeMutablePointer<CChar>?] = [strdup(path), nil]
    let failed = posix_spawn(&process, path, nil, nil, &arguments, nil)
    return failed == 0 ? "ok" : "\(failed)"
  }

  /// Starts a thread, which must work although the filter cannot see the flags of clone3.
  private static func threaded() -> String {
    var thread = pthread_t()
    var failed = pthread_create(&thread, nil, { _ in nil }, nil)
    // Joined, or ThreadSanitizer reports a leak.
    if failed == 0 { failed = pthread_join(thread, nil) }
    return failed == 0 ? "ok" : "\(failed)"
  }

  /// Reads the status of a thread in /proc, as libdispatch does.
  private static func threadStatus() -> String {
    var thread = pthread_t()
    pthread_create(
      &thread, nil,
      { _ in
        guard let thread: @convention(c) () -> pid_t = Acts.function("gettid") else { return nil }
        let descriptor = open("/proc/\(thread())/stat", O_RDONLY)
        return UnsafeMutableRawPointer(bitPattern: descriptor >= 0 ? 1 : Int(errno) << 8)
      }, nil)
    var result: UnsafeMutableRawPointer?
    pthread_join(thread, &result)
    let code = Int(bitPattern: result)
    return code == 1 ? "ok" : "\(code >> 8)"
  }

  private static func writableCode() -> CInt {
    let page = mmap(nil, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0)
    return mprotect(page, 4096, PROT_READ | PROT_EXEC)
  }

  private static func dumpableAgain() -> CInt {
    _ = clinux_forbid_dumps()
    // PR_SET_DUMPABLE
    guard let prctl: ProcessControl = function("prctl") else { return 0 }
    return prctl(4, 1, 0, 0, 0)
  }

  private static func resolved(_ name: String) -> String {
    var found: UnsafeMutablePointer<addrinfo>?
    let failed = getaddrinfo(name, nil, nil, &found)
    return failed == 0 ? "ok" : String(cString: gai_strerror(failed))
  }
}
