import Foundation
import Glibc
import PosternTestSupport
import Testing

@Suite("Landlock: forbidden operations fail, permitted ones do not")
struct LandlockTests {
  static let denied = Probe.code(EACCES)

  @Test("a file outside can be read, or one inside cannot")
  func reading() throws {
    let (inside, outside) = (try Folder(), try Folder())
    let allowed = try inside.file("deep/er/secret")
    #expect(try Probe("--read", inside.path, "read", allowed).result == "ok")
    #expect(try Probe("--read", inside.path, "list", inside.path).result == "ok")
    #expect(try Probe("--read", inside.path, "read", outside.file("secret")).result == Self.denied)
    #expect(try Probe("--read", inside.path, "list", outside.path).result == Self.denied)
    #expect(try Probe("--read", allowed, "read", allowed).result == "ok")
    #expect(try Probe("--read", allowed, "list", inside.path).result == Self.denied)
    #expect(try Probe("list", "/").result == Self.denied)
  }

  @Test("a directory whose files may be read can be listed, or a thread's own files in /proc cannot be read")
  func openable() throws {
    let folder = try Folder()
    #expect(try Probe("--open", folder.path, "read", folder.file("file")).result == "ok")
    #expect(try Probe("--open", folder.path, "list", folder.path).result == Self.denied)
    #expect(try Probe("--open", "/proc", "thread-status").result == "ok")
    #expect(try Probe("--read", "/proc/self", "thread-status").result == Self.denied)
    #expect(try Probe("--open", "/proc", "read", "/proc/\(getpid())/mem").result == Self.denied)
  }

  @Test("a file that replaces another one cannot be read: rotation breaks")
  func rotation() throws {
    let folder = try Folder()
    // As Kubernetes mounts secrets: the file is a link to ..data/file, and ..data a link that is replaced.
    _ = try folder.file("..1/key")
    let files = FileManager.default
    try files.createSymbolicLink(atPath: "\(folder.path)/..data", withDestinationPath: "..1")
    try files.createSymbolicLink(atPath: "\(folder.path)/key", withDestinationPath: "..data/key")
    #expect(try Probe("--read", folder.path, "read", "\(folder.path)/key").result == "ok")
  }

  @Test("a readable file can be written, removed, renamed or run, or a file be created next to it")
  func readOnly() throws {
    let folder = try Folder()
    let file = try folder.file("file")
    for act in [
      ["write", file], ["create", "\(folder.path)/new"], ["truncate", file], ["remove", file],
      ["rename", file, "\(folder.path)/other"], ["unix", "\(folder.path)/socket"],
    ] {
      #expect(try Probe(["--read", folder.path] + act).result == Self.denied, "\(act)")
    }
    #expect(try Probe("--no-filter", "--read", "/", "execute", "/bin/true").result == Self.denied)
  }

  @Test("a store cannot be written, or a file next to it can")
  func writing() throws {
    let (store, outside) = (try Folder(), try Folder())
    let file = try store.file("sessions.db")
    #expect(try Probe("--write", store.path, "write", file).result == "ok")
    #expect(try Probe("--write", store.path, "truncate", file).result == "ok")
    #expect(try Probe("--write", store.path, "rename", file, "\(store.path)/renamed").result == "ok")
    #expect(try Probe("--write", store.path, "remove", "\(store.path)/renamed").result == "ok")
    #expect(try Probe("--write", store.path, "create", "\(store.path)/new").result == "ok")
    #expect(try Probe("--write", store.path, "write", outside.file("file")).result == Self.denied)
    #expect(try Probe("--write", store.path, "create", "\(outside.path)/new").result == Self.denied)
    #expect(try Probe("--write", store.path, "unix", "\(store.path)/socket").result == Self.denied)
  }

  @Test("the socket's directory takes no socket, or takes files")
  func sockets() throws {
    let folder = try Folder()
    #expect(try Probe("--socket", folder.path, "unix", "\(folder.path)/socket").result == "ok")
    #expect(try Probe("--socket", folder.path, "remove", "\(folder.path)/socket").result == "ok")
    #expect(try Probe("--socket", folder.path, "create", "\(folder.path)/file").result == Self.denied)
  }

  @Test("a port that was not allowed can be connected to or listened on, or an allowed one cannot")
  func ports() throws {
    // No program listens on port 1: a permitted attempt ends with ECONNREFUSED.
    #expect(try Probe("--connect", "1", "connect", "1").result == Probe.code(ECONNREFUSED))
    #expect(try Probe("--connect", "2", "connect", "1").result == Self.denied)
    #expect(try Probe("--any-port", "connect", "1").result == Probe.code(ECONNREFUSED))
    #expect(try Probe("--connect", "2", "fastopen", "1").result == Probe.code(EPERM))
    #expect(try Probe("--bind", "0", "bind", "0").result == "ok")
    #expect(try Probe("--connect", "1", "bind", "0").result == Self.denied)
    #expect(try Probe("--bind", "1", "bind", "54321").result == Self.denied)
  }

  @Test("an abstract socket of another process can be connected to, or a signal be sent to another process")
  func scope() throws {
    let name = "postern-hardening-\(getpid())"
    let listener = socket(AF_UNIX, CInt(SOCK_STREAM.rawValue), 0)
    defer { close(listener) }
    var address = sockaddr_un()
    address.sun_family = sa_family_t(AF_UNIX)
    withUnsafeMutableBytes(of: &address.sun_path) { $0.copyBytes(from: [0] + Array(name.utf8)) }
    let length = socklen_t(MemoryLayout<sa_family_t>.size + 1 + name.utf8.count)
    withUnsafePointer(to: &address) {
      $0.withMemoryRebound(to: sockaddr.self, capacity: 1) { _ = bind(listener, $0, length) }
    }
    listen(listener, 8)
    #expect(try Probe("--no-landlock", "abstract", name).result == "ok")
    #expect(try Probe("abstract", name).result == Probe.code(EPERM))
    #expect(try Probe("--no-landlock", "signal", "\(getpid())").result == "ok")
    #expect(try Probe("signal", "\(getpid())").result == Probe.code(EPERM))
    #expect(try Probe("raise").result == "ok")
  }

  @Test("libraries can no longer be loaded, or names no longer be resolved")
  func everyday() throws {
    let system = ["--read", "/usr/lib", "--read", "/lib", "--read", "/lib64", "--read", "/etc"]
    #expect(try Probe(system + ["load", "libz.so.1"]).result == "ok")
    #expect(try Probe(system + ["resolve", "localhost"]).result == "ok")
    #expect(try Probe(system + ["thread"]).result == "ok")
  }

  @Test(
    "an older kernel gets a rule it does not know, or none", arguments: [1, 2, 3, 4, 5, 6])
  func olderKernels(abi: Int) throws {
    let folder = try Folder()
    let file = try folder.file("file")
    let options = ["--abi", "\(abi)", "--read", folder.path]
    #expect(try Probe(options + ["read", file]).lines == ["ok"])
    #expect(try Probe(options + ["list", "/"]).result == Self.denied)
    #expect(try Probe(options + ["connect", "1"]).result == (abi >= 4 ? Self.denied : Probe.code(ECONNREFUSED)))
    #expect(try Probe(options + ["truncate", file]).result == (abi >= 3 ? Self.denied : "ok"))
    #expect(try Probe(options + ["signal", "\(getpid())"]).result == (abi >= 6 ? Probe.code(EPERM) : "ok"))
  }

  @Test("a thread that is not under the rules is not reported")
  func threads() throws {
    let probe = try Probe("thread-first")
    let count = 1 + Sanitizer.threadCount
    #expect(probe.lines.first?.contains("\(count) threads that were already running") == true, "\(probe.lines)")
  }
}
