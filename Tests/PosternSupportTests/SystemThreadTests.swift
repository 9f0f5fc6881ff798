import Glibc
import PosternSupport
import PosternTestSupport
import Testing

@Suite("A thread of the system's own")
struct SystemThreadTests {
  private final class Load: Sendable {
    let onEnd: @Sendable () -> Void

    init(onEnd: @escaping @Sendable () -> Void) { self.onEnd = onEnd }
    deinit { onEnd() }
  }

  @Test("it has its name and takes no signal but those of its own faults; who starts it takes as many as before")
  func mask() throws {
    let seen = Locked<(name: String, blocked: [Int32])>(("", []))
    let before = Self.blocked()
    try SystemThread.startJoinable("a-name-of-15-by") {
      let comm = Self.file("/proc/thread-self/comm")
      let blocked = Self.blocked()
      seen.withLock { $0 = (comm, blocked) }
    }.join()
    let (name, blocked) = seen.withLock { $0 }
    #expect(name == "a-name-of-15-by\n")
    for signal in [SIGTERM, SIGINT, SIGHUP, SIGPIPE, SIGCHLD] { #expect(blocked.contains(signal), "\(signal)") }
    for signal in [SIGSEGV, SIGBUS, SIGABRT, SIGSYS] { #expect(!blocked.contains(signal), "\(signal)") }
    #expect(Self.blocked() == before)
  }

  @Test("what its body references is released at its end, whether it is joined or not")
  func release() async throws {
    let ended = Locked(0)
    func load() -> Load { Load { ended.withLock { $0 += 1 } } }
    do {
      let object = load()
      try SystemThread.startJoinable("joined") { withExtendedLifetime(object) {} }.join()
    }
    #expect(ended.withLock { $0 } == 1)
    do {
      let object = load()
      try SystemThread.start("detached") { withExtendedLifetime(object) {} }
    }
    #expect(await eventually { ended.withLock { $0 } == 2 })
  }

  @Test("a thread that is to wait for itself does not hang")
  func itself() async throws {
    let handle = Locked<SystemThread.Handle?>(nil)
    let isDone = Locked(false)
    let started = try SystemThread.startJoinable("itself") {
      while true {
        guard let own = handle.withLock({ $0 }) else {
          usleep(100)
          continue
        }
        own.join()
        return isDone.withLock { $0 = true }
      }
    }
    handle.withLock { $0 = started }
    #expect(await eventually { isDone.withLock { $0 } })
  }

  private static func blocked() -> [Int32] {
    var set = sigset_t()
    pthread_sigmask(SIG_BLOCK, nil, &set)
    return (1...31).filter { sigismember(&set, $0) == 1 }
  }

  private static func file(_ path: String) -> String {
    let descriptor = open(path, O_RDONLY)
    defer { close(descriptor) }
    var bytes = [UInt8](repeating: 0, count: 64)
    let count = read(descriptor, &bytes, bytes.count)
    return String(decoding: bytes.prefix(max(0, count)), as: UTF8.self)
  }
}
