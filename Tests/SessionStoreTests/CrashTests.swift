import Foundation
import Glibc
import PosternSupport
import PosternTestSupport
import SessionRecords
import Testing

@testable import SessionStore

/// Tests with other processes: they are this program again, told apart by the environment, which makes it a writer.
@Suite("Processes that are killed", .serialized)
struct CrashTests {
  private static let variable = "POSTERN_STORE_WRITER"
  private static let folder = ProcessInfo.processInfo.environment[variable]

  @Test("(the writer that the tests below start)", .enabled(if: folder != nil))
  func writer() async throws {
    guard let folder = Self.folder else { return }
    let store = try await FileRecordStore.open(.init(directory: folder))
    let first = try await store.count(in: .session)
    await withTaskGroup(of: Void.self) { group in
      for writer in 0..<4 {
        group.addTask {
          for step in 0..<100_000 {
            let number = first + writer * 1_000_000 + step
            guard (try? await store.insert(Records.record(number, size: 800))) != nil else { continue }
            Self.say("1 \(number)")
            guard (try? await store.replace(Records.record(number, version: 2, size: 800), under: nil)) != nil else {
              continue
            }
            Self.say("2 \(number)")
          }
        }
      }
    }
  }

  /// One write(2), so that a line is whole or not there.
  private static func say(_ line: String) {
    let bytes = Array("ack \(line)\n".utf8)
    _ = bytes.withUnsafeBytes { write(1, $0.baseAddress, $0.count) }
  }

  @Test("an acknowledged write is gone, or one is half there, after a process was killed", .enabled(if: folder == nil))
  func killed() async throws {
    let folder = TemporaryFolder()
    await (try await FileRecordStore.open(.init(directory: folder.store))).close()
    var expected: [Int: UInt64] = [:]
    var random = SeededGenerator(seed: 7)
    for round in 0..<Thoroughness.repetitions(100, usually: 15) {
      let writer = try Writer(folder.store)
      let lines = writer.kill(afterLines: Int(random.next() % 60) + 1, microseconds: UInt32(random.next() % 3000))
      for line in lines {
        let parts = line.split(separator: " ")
        guard parts.count == 3, let version = UInt64(parts[1]), let number = Int(parts[2]) else { continue }
        expected[number] = max(expected[number] ?? 0, version)
      }
      #expect(!lines.isEmpty, "round \(round)")
      let store = try await FileRecordStore.open(.init(directory: folder.store))
      var lost = 0
      for (number, version) in expected {
        let found = try await store.record(for: Records.key(number))
        if (found?.version ?? 0) < version { lost += 1 }
        if let found { #expect(found == Records.record(number, version: found.version, size: 800)) }
      }
      #expect(lost == 0, "round \(round)")
      // Keeps the rounds short.
      for number in expected.keys { _ = try await store.remove(Records.key(number)) }
      expected = [:]
      await store.close()
    }
  }

  @Test("two processes have one store", .enabled(if: folder == nil))
  func twoProcesses() async throws {
    let folder = TemporaryFolder()
    await (try await FileRecordStore.open(.init(directory: folder.store))).close()
    let writer = try Writer(folder.store)
    writer.waitForLine()
    do {
      _ = try await FileRecordStore.open(.init(directory: folder.store))
      Issue.record("opened twice")
    } catch {
      #expect(error.kind == .locked)
      #expect(error.detail.contains("process \(writer.identifier)"), "\(error.detail)")
    }
    _ = writer.kill(afterLines: 0, microseconds: 0)
    await (try await FileRecordStore.open(.init(directory: folder.store))).close()
  }

  /// This program, writing.
  private final class Writer {
    private let process = Process()
    private let output = Pipe()
    private var buffer = Data()

    var identifier: Int32 { process.processIdentifier }

    init(_ folder: String) throws {
      let line = try String(contentsOfFile: "/proc/self/cmdline", encoding: .utf8)
      var arguments = line.split(separator: "\0").dropFirst().map(String.init)
      // Whatever was to be run here, there it is the writer.
      while let index = arguments.firstIndex(of: "--filter") {
        arguments.removeSubrange(index...min(index + 1, arguments.count - 1))
      }
      arguments += ["--filter", "CrashTests/writer"]
      if !arguments.contains("--testing-library") { arguments += ["--testing-library", "swift-testing"] }
      process.executableURL = URL(
        fileURLWithPath: try FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/exe"))
      process.arguments = arguments
      process.environment = ProcessInfo.processInfo.environment.merging([CrashTests.variable: folder]) { $1 }
      process.standardOutput = output
      process.standardError = FileHandle.nullDevice
      try process.run()
    }

    private var acknowledged: [String] {
      String(decoding: buffer, as: UTF8.self).split(separator: "\n").map(String.init).filter { $0.hasPrefix("ack ") }
    }

    func waitForLine() { _ = read(until: 1) }

    func kill(afterLines count: Int, microseconds: UInt32) -> [String] {
      _ = read(until: count)
      usleep(microseconds)
      Glibc.kill(process.processIdentifier, SIGKILL)
      // Its earlier output is still in the pipe.
      buffer += output.fileHandleForReading.readDataToEndOfFile()
      process.waitUntilExit()
      return acknowledged
    }

    private func read(until count: Int) -> Bool {
      while acknowledged.count < count {
        let piece = output.fileHandleForReading.availableData
        if piece.isEmpty { return false }
        buffer += piece
      }
      return true
    }
  }
}
