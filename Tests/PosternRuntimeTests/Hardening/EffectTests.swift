import Foundation
import Glibc
import Testing

@Suite("The reported protections are in force")
struct EffectTests {
  @Test("a protection is reported as in force that was not requested, or not reported although it was")
  func effect() throws {
    let all = try Probe("effect").result
    for part in [
      "noNewPrivileges: true", "forbidsWritableCode: true", "limitsFiles: true", "limitsPorts: true", "isScoped: true",
      "filtersSystemCalls: true",
    ] { #expect(all.contains(part), "\(all)") }
    let none = try Probe("--no-landlock", "--no-filter", "effect").result
    for part in [
      "noNewPrivileges: true", "landlockABI: 0", "limitsFiles: false", "limitsPorts: false", "isScoped: false",
      "filtersSystemCalls: false",
    ] { #expect(none.contains(part), "\(none)") }
    let old = try Probe("--abi", "2", "effect").result
    for part in ["landlockABI: 2", "limitsFiles: true", "limitsPorts: false", "isScoped: false"] {
      #expect(old.contains(part), "\(old)")
    }
    #expect(try Probe("--any-port", "effect").result.contains("limitsPorts: false"))
  }

  @Test("a process without free descriptors reports a protection as missing that is in force")
  func descriptors() throws {
    let effect = try Probe("--no-descriptors", "effect").result
    for part in ["limitsFiles: true", "limitsPorts: true", "filtersSystemCalls: true"] {
      #expect(effect.contains(part), "\(effect)")
    }
    #expect(try Probe("--no-descriptors", "read", "/etc/passwd").result == Probe.code(EMFILE))
  }

  @Test("the second filter is reported before it is installed, or not reported when it is")
  func serving() throws {
    #expect(try Probe("effect").result.contains("filtersStartCalls: false"))
    #expect(try Probe("--serving", "effect").result.contains("filtersStartCalls: true"))
  }

  @Test("the kernel reports something else about the process")
  func kernel() throws {
    let process = Process()
    process.executableURL = URL(fileURLWithPath: Probe.path)
    process.arguments = ["hold"]
    let output = Pipe()
    process.standardOutput = output
    try process.run()
    defer {
      // The tests' threads block the others, and what they start does, too.
      kill(process.processIdentifier, SIGKILL)
      process.waitUntilExit()
    }
    #expect(String(decoding: output.fileHandleForReading.availableData, as: UTF8.self).hasPrefix("holding"))
    let file = try #require(FileHandle(forReadingAtPath: "/proc/\(process.processIdentifier)/status"))
    let status = String(decoding: file.readDataToEndOfFile(), as: UTF8.self)
    for line in ["NoNewPrivs:\t1", "Seccomp:\t2"] { #expect(status.contains(line)) }
    // The file's user is root: the kernel does not let other processes of the same user read it.
    var memory = stat()
    #expect(stat("/proc/\(process.processIdentifier)/mem", &memory) == 0 && memory.st_uid == 0)
  }
}
