import Foundation
import Glibc
import Testing

@Suite("What is said to be in force is in force")
struct EffectTests {
  @Test("a protection is said to be in force that was not asked for, or not that was")
  func effect() throws {
    let all = try Probe("effect").said
    for part in [
      "noNewPrivileges: true", "refusesWritableCode: true", "limitsFiles: true", "limitsPorts: true", "isScoped: true",
      "filtersSystemCalls: true",
    ] { #expect(all.contains(part), "\(all)") }
    let none = try Probe("--no-landlock", "--no-filter", "effect").said
    for part in [
      "noNewPrivileges: true", "landlockABI: 0", "limitsFiles: false", "limitsPorts: false", "isScoped: false",
      "filtersSystemCalls: false",
    ] { #expect(none.contains(part), "\(none)") }
    let old = try Probe("--abi", "2", "effect").said
    for part in ["landlockABI: 2", "limitsFiles: true", "limitsPorts: false", "isScoped: false"] {
      #expect(old.contains(part), "\(old)")
    }
    #expect(try Probe("--any-port", "effect").said.contains("limitsPorts: false"))
  }

  @Test("a process that has run out of descriptors says that what holds does not hold")
  func descriptors() throws {
    let said = try Probe("--no-descriptors", "effect").said
    for part in ["limitsFiles: true", "limitsPorts: true", "filtersSystemCalls: true"] {
      #expect(said.contains(part), "\(said)")
    }
    #expect(try Probe("--no-descriptors", "read", "/etc/passwd").said == Probe.code(EMFILE))
  }

  @Test("what only a start needs is said to be given up before it is, or not when it is")
  func serving() throws {
    #expect(try Probe("effect").said.contains("filtersStartCalls: false"))
    #expect(try Probe("--serving", "effect").said.contains("filtersStartCalls: true"))
  }

  @Test("the kernel says otherwise of the process")
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
    // Belongs to root: the kernel lets nobody of the process's own user look into it.
    let attributes = try FileManager.default.attributesOfItem(atPath: "/proc/\(process.processIdentifier)/mem")
    #expect((attributes[.ownerAccountID] as? NSNumber)?.intValue == 0)
  }
}
