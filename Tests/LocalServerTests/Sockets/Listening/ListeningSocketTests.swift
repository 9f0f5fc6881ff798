import Foundation
import Glibc
import PosternSupport
import Testing

@testable import LocalServer

@Suite("The socket file", .timeLimit(.minutes(1)))
struct ListeningSocketTests {
  private func status(_ path: String) -> stat? {
    var status = stat()
    return lstat(path, &status) == 0 ? status : nil
  }

  private func listen(_ path: String, mode: UInt32 = 0o600, group: UInt32? = nil) throws(SocketServerError) -> CInt {
    try ListeningSocket(.path(path, mode: mode, group: group)).descriptor
  }

  /// A socket file whose server is gone.
  private func makeStale(_ path: String, type: __socket_type = SOCK_STREAM) throws {
    let address = try UnixAddress(path: path)
    let descriptor = socket(AF_UNIX, CInt(type.rawValue), 0)
    #expect(address.withSockaddr { Glibc.bind(descriptor, $0, $1) } == 0)
    Glibc.close(descriptor)
  }

  @Test(
    "the mode is exactly the configured one, whatever the umask",
    arguments: [0o600, 0o660, 0o666, 0o620, 0o777] as [UInt32])
  func mode(mode: UInt32) throws {
    let directory = try TemporaryDirectory()
    let descriptor = try listen(directory.file("s"), mode: mode)
    defer { Glibc.close(descriptor) }
    #expect(status(directory.file("s"))?.st_mode == S_IFSOCK | mode)
  }

  @Test("set-id and sticky bits are not for sockets")
  func specialBits() throws {
    let directory = try TemporaryDirectory()
    let descriptor = try listen(directory.file("s"), mode: 0o7660)
    defer { Glibc.close(descriptor) }
    #expect(status(directory.file("s"))?.st_mode == S_IFSOCK | 0o660)
  }

  @Test("the group is the configured one", .enabled(if: geteuid() == 0))
  func group() throws {
    let directory = try TemporaryDirectory()
    let descriptor = try listen(directory.file("s"), mode: 0o660, group: 3000)
    defer { Glibc.close(descriptor) }
    let found = status(directory.file("s"))
    #expect(found?.st_gid == 3000)
    #expect(found?.st_mode == S_IFSOCK | 0o660)
  }

  @Test("a group we are not in is a clear error, and no socket is left behind", .enabled(if: geteuid() != 0))
  func foreignGroup() throws {
    let directory = try TemporaryDirectory()
    #expect(throws: SocketServerError.self) { try listen(directory.file("s"), group: 3_999_999) }
    #expect(status(directory.file("s")) == nil)
  }

  @Test("no process sees a wider mode or connects before the mode and group are in force")
  func race() async throws {
    let directory = try TemporaryDirectory()
    let path = directory.file("s")
    let seen = Locked<(done: Bool, modes: Set<UInt32>, strangers: Int)>((false, [], 0))
    let isRoot = geteuid() == 0
    let watcher = Thread {
      // As another user this thread connects with none of root's rights; the ids of a thread are its own (setfsuid).
      if isRoot {
        Self.becomeStranger()
      }
      while !seen.withLock({ $0.done }) {
        var status = stat()
        if lstat(path, &status) == 0 {
          let mode = status.st_mode & 0o777
          seen.withLock { _ = $0.modes.insert(mode) }
        }
        guard isRoot else { continue }
        let probe = socket(AF_UNIX, CInt(SOCK_STREAM.rawValue | SOCK_NONBLOCK.rawValue), 0)
        if UnixClient.connect(probe, to: path) == 0 { seen.withLock { $0.strangers += 1 } }
        Glibc.close(probe)
      }
    }
    // The directory itself must not be what keeps the stranger out.
    #expect(chmod(directory.path, 0o755) == 0)
    watcher.start()
    for _ in 0..<300 {
      let socket = try ListeningSocket(.path(path, mode: 0o660, group: isRoot ? 3000 : nil))
      socket.file?.remove()
      Glibc.close(socket.descriptor)
    }
    let result = seen.withLock { seen in
      seen.done = true
      return seen
    }
    #expect(result.modes.allSatisfy { $0 & ~0o660 == 0 }, "\(result.modes)")
    #expect(result.strangers == 0)
  }

  /// setfsgid and setfsuid, which Glibc's overlay does not show: the calling thread's file access only.
  private static func becomeStranger() {
    for name in ["setfsgid", "setfsuid"] {
      guard let address = dlsym(nil, name) else { continue }
      let call = unsafeBitCast(address, to: (@convention(c) (UInt32) -> CInt).self)
      _ = call(65_534)
    }
  }

  @Test("a stale socket is replaced", arguments: [SOCK_STREAM, SOCK_DGRAM])
  func stale(type: __socket_type) throws {
    let directory = try TemporaryDirectory()
    let path = directory.file("s")
    try makeStale(path, type: type)
    let before = status(path)?.st_ino
    let descriptor = try listen(path)
    defer { Glibc.close(descriptor) }
    #expect(before != nil)
    let client = try UnixClient(path)
    client.close()
  }

  @Test("a live socket is rejected and left alone, with a full backlog, too")
  func live() throws {
    let directory = try TemporaryDirectory()
    let path = directory.file("s")
    let descriptor = try listen(path)
    defer { Glibc.close(descriptor) }
    #expect(throws: SocketServerError.alreadyInUse(path: path)) { try listen(path) }
    // Without accept(), once the backlog is full, connect() returns EAGAIN: a live socket, too.
    Glibc.listen(descriptor, 0)
    #expect(throws: SocketServerError.alreadyInUse(path: path)) { try listen(path) }
    #expect(status(path) != nil)
  }

  @Test("a live socket of another type is rejected and left alone")
  func liveDatagram() throws {
    let directory = try TemporaryDirectory()
    let path = directory.file("s")
    let address = try UnixAddress(path: path)
    let descriptor = socket(AF_UNIX, CInt(SOCK_DGRAM.rawValue), 0)
    defer { Glibc.close(descriptor) }
    #expect(address.withSockaddr { Glibc.bind(descriptor, $0, $1) } == 0)
    #expect(throws: SocketServerError.pathOccupied(path: path, kind: "a socket of another type")) { try listen(path) }
    #expect(status(path) != nil)
  }

  @Test(
    "anything but a socket is rejected and never deleted",
    arguments: ["file", "directory", "link", "pipe", "socketLink"])
  func occupied(kind: String) throws {
    let directory = try TemporaryDirectory()
    let path = directory.file("s")
    let expected: String
    switch kind {
    case "file":
      Glibc.close(open(path, O_CREAT | O_WRONLY, 0o600))
      expected = "a regular file"
    case "directory":
      mkdir(path, 0o700)
      expected = "a directory"
    case "link":
      symlink("/nonexistent", path)
      expected = "a symbolic link"
    case "pipe":
      mkfifo(path, 0o600)
      expected = "a named pipe"
    default:
      // A link to a stale socket: neither the link nor the socket is ours to delete.
      try makeStale(directory.file("real"))
      symlink(directory.file("real"), path)
      expected = "a symbolic link"
    }
    let before = status(path)
    #expect(throws: SocketServerError.pathOccupied(path: path, kind: expected)) { try listen(path) }
    #expect(status(path)?.st_ino == before?.st_ino)
    if kind == "socketLink" { #expect(status(directory.file("real")) != nil) }
  }

  @Test("paths up to 107 bytes work, longer ones are rejected with their length")
  func length() throws {
    let directory = try TemporaryDirectory()
    let fitting = directory.file(String(repeating: "a", count: 106 - directory.path.utf8.count))
    #expect(fitting.utf8.count == 107)
    let descriptor = try listen(fitting)
    defer { Glibc.close(descriptor) }
    let client = try UnixClient(fitting)
    client.close()
    #expect(throws: SocketServerError.pathTooLong(path: fitting + "a", length: 108)) { try listen(fitting + "a") }
    #expect(throws: SocketServerError.pathTooLong(path: "/" + String(repeating: "é", count: 60), length: 121)) {
      try listen("/" + String(repeating: "é", count: 60))
    }
  }

  @Test("paths that can be no file are rejected", arguments: ["", "/", "/tmp/", "a\u{0}b"])
  func unusable(path: String) {
    #expect(throws: SocketServerError.pathUnusable) { try listen(path) }
  }

  @Test("a missing directory is named")
  func missingDirectory() throws {
    let directory = try TemporaryDirectory()
    let missing = directory.file("missing")
    #expect(throws: SocketServerError.directoryMissing(path: missing + "/s", directory: missing)) {
      try listen(missing + "/s")
    }
    Glibc.close(open(directory.file("file"), O_CREAT | O_WRONLY, 0o600))
    #expect(
      throws: SocketServerError.directoryMissing(path: directory.file("file/s"), directory: directory.file("file"))
    ) {
      try listen(directory.file("file/s"))
    }
  }

  @Test("of many that start at once on a stale path, one wins and the others hear why")
  func racingStarters() async throws {
    let directory = try TemporaryDirectory()
    let path = directory.file("s")
    // From the second round on the last winner's file is the stale one.
    try makeStale(path)
    for _ in 0..<20 {
      let outcomes = Locked<(won: [ListeningSocket], rejected: [SocketServerError])>(([], []))
      DispatchQueue.concurrentPerform(iterations: 8) { _ in
        do throws(SocketServerError) {
          let socket = try ListeningSocket(.path(path))
          outcomes.withLock { $0.won.append(socket) }
        } catch {
          outcomes.withLock { $0.rejected.append(error) }
        }
      }
      let (won, rejected) = outcomes.withLock { $0 }
      #expect(won.count == 1)
      #expect(rejected.allSatisfy { $0 == .alreadyInUse(path: path) }, "\(rejected)")
      for socket in won {
        #expect(throws: Never.self) { try UnixClient(path).close() }
        Glibc.close(socket.descriptor)
      }
    }
  }

  @Test("a user that may open the directory keeps a server from starting and stopping by a lock on it")
  func directoryLockedByOthers() throws {
    let directory = try TemporaryDirectory()
    let path = directory.file("s")
    let other = open(directory.path, O_RDONLY | O_DIRECTORY)
    defer { Glibc.close(other) }
    #expect(flock(other, LOCK_EX | LOCK_NB) == 0)
    let socket = try ListeningSocket(.path(path))
    Glibc.close(socket.descriptor)
    socket.file?.remove()
    #expect(status(path) == nil)
    // Other users cannot open the remaining file.
    #expect(status(directory.file(".s.lock"))?.st_mode == S_IFREG | 0o600)
  }

  @Test(
    "a lock that others could hold, or that leads elsewhere, is taken; the server has to start without",
    arguments: ["open to others", "is a directory", "is a link", "is a pipe"])
  func unusableLock(kind: String) throws {
    let directory = try TemporaryDirectory()
    let (path, lock) = (directory.file("s"), directory.file(".s.lock"))
    switch kind {
    case "is a directory": mkdir(lock, 0o700)
    case "is a link": symlink(directory.file("elsewhere"), lock)
    case "is a pipe": mkfifo(lock, 0o600)
    default:
      Glibc.close(open(lock, O_CREAT | O_WRONLY, 0o600))
      chmod(lock, 0o644)
    }
    #expect(try SocketLock(for: path).file.problem?.hasPrefix(lock) == true)
    #expect(status(directory.file("elsewhere")) == nil)
    let socket = try ListeningSocket(.path(path))
    Glibc.close(socket.descriptor)
    socket.file?.remove()
    #expect(status(path) == nil)
  }

  @Test("taking the file away spares a successor's")
  func removesOnlyItsOwn() throws {
    let directory = try TemporaryDirectory()
    let path = directory.file("s")
    let first = try ListeningSocket(.path(path))
    unlink(path)
    let second = try ListeningSocket(.path(path))
    first.file?.remove()
    #expect(status(path) != nil)
    second.file?.remove()
    #expect(status(path) == nil)
    second.file?.remove()
    Glibc.close(first.descriptor)
    Glibc.close(second.descriptor)
  }

  @Test("while one server drains, its successor takes the path over")
  func handOver() async throws {
    try await EchoServer.run { echo in
      let old = try echo.client()
      try await old.send("[1]\n")
      _ = try await old.line()
      await echo.server.stopListening()
      let successor = try await SocketServer.start(.init(endpoint: .path(echo.path))) { _ in
        EchoDelegate(log: EventLog())
      }
      let new = try echo.client()
      try await new.send("[2]\n")
      #expect(try await new.line() == "[2]")
      try await old.send("[3]\n")
      #expect(try await old.line() == "[3]")
      await echo.server.shutdown()
      #expect(status(echo.path) != nil, "the old server's end must not take the new one's file")
      await successor.shutdown()
      #expect(status(echo.path) == nil)
    }
  }

  @Test("errors say what to do, and where")
  func descriptions() {
    #expect("\(SocketServerError.alreadyInUse(path: "/run/s"))".contains("in use by a running process"))
    #expect("\(SocketServerError.pathTooLong(path: "/x", length: 108))".contains("107"))
    #expect("\(SocketServerError.system(call: "bind(/s)", errno: EACCES))" == "bind(/s): Permission denied")
  }
}
