import Foundation
import Glibc
import PosternTestSupport
import Testing

@Suite("Landlock: what is not allowed fails, what is allowed does not")
struct LandlockTests {
  static let denied = Probe.code(EACCES)

  @Test("a file outside can be read, or one inside cannot")
  func reading() throws {
    let (inside, outside) = (try Folder(), try Folder())
    let allowed = try inside.file("deep/er/secret")
    #expect(try Probe("--read", inside.path, "read", allowed).said == "ok")
    #expect(try Probe("--read", inside.path, "list", inside.path).said == "ok")
    #expect(try Probe("--read", inside.path, "read", outside.file("secret")).said == Self.denied)
    #expect(try Probe("--read", inside.path, "list", outside.path).said == Self.denied)
    #expect(try Probe("--read", allowed, "read", allowed).said == "ok")
    #expect(try Probe("--read", allowed, "list", inside.path).said == Self.denied)
    #expect(try Probe("list", "/").said == Self.denied)
  }

  @Test("what may be read by name can be listed, or a thread's own files in /proc cannot be read")
  func openable() throws {
    let folder = try Folder()
    #expect(try Probe("--open", folder.path, "read", folder.file("file")).said == "ok")
    #expect(try Probe("--open", folder.path, "list", folder.path).said == Self.denied)
    #expect(try Probe("--open", "/proc", "thread-status").said == "ok")
    #expect(try Probe("--read", "/proc/self", "thread-status").said == Self.denied)
    #expect(try Probe("--open", "/proc", "read", "/proc/\(getpid())/mem").said == Self.denied)
  }

  @Test("a file that is put into the place of one that was read cannot be read: rotation breaks")
  func rotation() throws {
    let folder = try Folder()
    // As Kubernetes mounts secrets: the file is a link to ..data/file, and ..data a link that is replaced.
    _ = try folder.file("..1/key")
    let files = FileManager.default
    try files.createSymbolicLink(atPath: "\(folder.path)/..data", withDestinationPath: "..1")
    try files.createSymbolicLink(atPath: "\(folder.path)/key", withDestinationPath: "..data/key")
    #expect(try Probe("--read", folder.path, "read", "\(folder.path)/key").said == "ok")
  }

  @Test("what is allowed to be read can be written, removed, renamed or run, or something new be made beside it")
  func readOnly() throws {
    let folder = try Folder()
    let file = try folder.file("file")
    for act in [
      ["write", file], ["create", "\(folder.path)/new"], ["truncate", file], ["remove", file],
      ["rename", file, "\(folder.path)/other"], ["unix", "\(folder.path)/socket"],
    ] {
      #expect(try Probe(["--read", folder.path] + act).said == Self.denied, "\(act)")
    }
    #expect(try Probe("--no-filter", "--read", "/", "execute", "/bin/true").said == Self.denied)
  }

  @Test("a store cannot be written, or anything beside it can")
  func writing() throws {
    let (store, outside) = (try Folder(), try Folder())
    let file = try store.file("sessions.db")
    #expect(try Probe("--write", store.path, "write", file).said == "ok")
    #expect(try Probe("--write", store.path, "truncate", file).said == "ok")
    #expect(try Probe("--write", store.path, "rename", file, "\(store.path)/renamed").said == "ok")
    #expect(try Probe("--write", store.path, "remove", "\(store.path)/renamed").said == "ok")
    #expect(try Probe("--write", store.path, "create", "\(store.path)/new").said == "ok")
    #expect(try Probe("--write", store.path, "write", outside.file("file")).said == Self.denied)
    #expect(try Probe("--write", store.path, "create", "\(outside.path)/new").said == Self.denied)
    #expect(try Probe("--write", store.path, "unix", "\(store.path)/socket").said == Self.denied)
  }

  @Test("the socket's directory takes no socket, or takes files")
  func sockets() throws {
    let folder = try Folder()
    #expect(try Probe("--socket", folder.path, "unix", "\(folder.path)/socket").said == "ok")
    #expect(try Probe("--socket", folder.path, "remove", "\(folder.path)/socket").said == "ok")
    #expect(try Probe("--socket", folder.path, "create", "\(folder.path)/file").said == Self.denied)
  }

  @Test("a port that was not allowed can be connected to or listened on, or an allowed one cannot")
  func ports() throws {
    // Nobody listens on 1: what gets through is refused.
    #expect(try Probe("--connect", "1", "connect", "1").said == Probe.code(ECONNREFUSED))
    #expect(try Probe("--connect", "2", "connect", "1").said == Self.denied)
    #expect(try Probe("--any-port", "connect", "1").said == Probe.code(ECONNREFUSED))
    #expect(try Probe("--connect", "2", "fastopen", "1").said == Probe.code(EPERM))
    #expect(try Probe("--bind", "0", "bind", "0").said == "ok")
    #expect(try Probe("--connect", "1", "bind", "0").said == Self.denied)
    #expect(try Probe("--bind", "1", "bind", "54321").said == Self.denied)
  }

  @Test("somebody else's abstract socket can be connected to, or somebody else be sent a signal")
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
    #expect(try Probe("--no-landlock", "abstract", name).said == "ok")
    #expect(try Probe("abstract", name).said == Probe.code(EPERM))
    #expect(try Probe("--no-landlock", "signal", "\(getpid())").said == "ok")
    #expect(try Probe("signal", "\(getpid())").said == Probe.code(EPERM))
    #expect(try Probe("raise").said == "ok")
  }

  @Test("libraries can no longer be loaded, or names no longer be resolved")
  func everyday() throws {
    let system = ["--read", "/usr/lib", "--read", "/lib", "--read", "/lib64", "--read", "/etc"]
    #expect(try Probe(system + ["load", "libz.so.1"]).said == "ok")
    #expect(try Probe(system + ["resolve", "localhost"]).said == "ok")
    #expect(try Probe(system + ["thread"]).said == "ok")
  }

  @Test(
    "an older kernel gets a rule it does not know, or none", arguments: [1, 2, 3, 4, 5, 6])
  func olderKernels(abi: Int) throws {
    let folder = try Folder()
    let file = try folder.file("file")
    let options = ["--abi", "\(abi)", "--read", folder.path]
    #expect(try Probe(options + ["read", file]).lines == ["ok"])
    #expect(try Probe(options + ["list", "/"]).said == Self.denied)
    #expect(try Probe(options + ["connect", "1"]).said == (abi >= 4 ? Self.denied : Probe.code(ECONNREFUSED)))
    #expect(try Probe(options + ["truncate", file]).said == (abi >= 3 ? Self.denied : "ok"))
    #expect(try Probe(options + ["signal", "\(getpid())"]).said == (abi >= 6 ? Probe.code(EPERM) : "ok"))
  }

  @Test("a process with a thread that escapes the rules says nothing of it")
  func threads() throws {
    let probe = try Probe("thread-first")
    let count = 1 + Sanitizer.threadCount
    #expect(probe.lines.first?.contains("\(count) threads were running before") == true, "\(probe.lines)")
  }
}
