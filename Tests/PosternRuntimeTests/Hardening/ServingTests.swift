import Foundation
import Glibc
import Testing

@testable import PosternRuntime

@Suite("After the start: calls needed only while starting fail with EPERM, other ones do not")
struct ServingTests {
  static let denied = Probe.code(EPERM)

  @Test("code is run from memory without a name, from a file that was written, or from a library that was not loaded")
  func code() throws {
    let folder = try Folder()
    let file = try folder.file("code")
    #expect(try Probe("memory-code").result == "ok")
    #expect(try Probe("--serving", "memory-code").result == Self.denied)
    #expect(try Probe("--write", folder.path, "file-code", file).result == "ok")
    #expect(try Probe("--serving", "--write", folder.path, "file-code", file).result == Self.denied)
    // What is written there changes code that cannot be written otherwise.
    let own = ["--serving", "--read", "/proc/self", "--open", "/proc"]
    #expect(try Probe(own + ["write", "/proc/self/mem"]).result == LandlockTests.denied)
    let system = ["--read", "/usr/lib", "--read", "/lib", "--read", "/lib64", "--read", "/etc"]
    #expect(try Probe(system + ["load", "libz.so.1"]).result == "ok")
    #expect(try Probe(["--serving"] + system + ["load", "libz.so.1"]).result == "not loaded")
  }

  @Test(
    "mode, owner or times of a file outside are changed, a link is made, or a directory entered",
    arguments: ["mode", "owner", "times", "enter", "link"])
  func outside(act: String) throws {
    let folder = try Folder()
    let target = act == "link" ? "\(folder.path)/link" : act == "enter" ? folder.path : try folder.file("file")
    let landlock = act == "link" ? ["--no-landlock"] : []
    #expect(try Probe(["--serving"] + landlock + [act, target]).result == Self.denied)
    #expect(try Probe(landlock + [act, target]).result == "ok", "the test would see nothing")
  }

  @Test("a file can be made accessible to other users, or the store cannot restrict its own")
  func ownFiles() throws {
    let folder = try Folder()
    let file = try folder.file("file")
    let store = ["--serving", "--write", folder.path]
    #expect(try Probe(store + ["own-mode", file, "600"]).result == "ok")
    for mode in ["644", "4755", "660"] { #expect(try Probe(store + ["own-mode", file, mode]).result == Self.denied) }
    for act in [["write", file], ["create", "\(folder.path)/new"], ["rename", file, "\(folder.path)/other"]] {
      #expect(try Probe(store + act).result == "ok", "\(act)")
    }
    #expect(try Probe(store + ["remove", "\(folder.path)/other"]).result == "ok")
  }

  @Test("threads, names or signals to itself no longer work")
  func everyday() throws {
    let system = ["--serving", "--read", "/usr/lib", "--read", "/lib", "--read", "/lib64", "--read", "/etc"]
    for act in [["resolve", "localhost"], ["thread"], ["raise"]] {
      #expect(try Probe(system + act).result == "ok", "\(act)")
    }
    #expect(try Probe(["--serving", "--open", "/proc", "thread-status"]).result == "ok")
    #expect(try Probe("--serving", "--connect", "1", "connect", "1").result == Probe.code(ECONNREFUSED))
  }

  @Test("a name service is not loaded before it can no longer be, or something that is none is")
  func nameServices() throws {
    let folder = try Folder()
    let path = "\(folder.path)/nsswitch.conf"
    try Data(
      """
      # passwd: ldap
      passwd:  files systemd
      hosts:\tfiles mdns4_minimal [NOTFOUND=return] resolve [!UNAVAIL=return] dns # not: winbind
      group: compat [ SUCCESS = merge ] systemd ../../tmp/evil
      """.utf8
    ).write(to: URL(fileURLWithPath: path))
    let names = ["compat", "dns", "files", "mdns4_minimal", "resolve", "systemd"].map { "libnss_\($0).so.2" }
    #expect(LateLibraries.names(nameServices: path) == ["libgcc_s.so.1"] + names)
    #expect(
      LateLibraries.names(nameServices: "\(folder.path)/none") == [
        "libgcc_s.so.1", "libnss_dns.so.2", "libnss_files.so.2",
      ])
  }
}
