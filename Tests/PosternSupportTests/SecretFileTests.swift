import Foundation
import PosternSupport
import PosternTestSupport
import Testing

/// A secret's file that is replaced, is broken, or is none.
@Suite("Files of secrets", .timeLimit(.minutes(1)))
struct SecretFileTests {
  private let directory: URL
  private let path: String

  init() throws {
    directory = FileManager.default.temporaryDirectory.appending(path: "secret-file-\(UUID().uuidString)")
    try FileManager.default.createDirectory(at: directory, withIntermediateDirectories: true)
    path = directory.appending(path: "token").path
  }

  private func write(_ text: String) throws {
    // By a rename, as whatever replaces secrets does.
    let next = directory.appending(path: "next")
    try Data(text.utf8).write(to: next)
    try? FileManager.default.removeItem(atPath: path)
    try FileManager.default.moveItem(atPath: next.path, toPath: path)
  }

  private func problem(_ file: SecretFile) -> SecretFile.Problem? {
    do throws(SecretFile.Problem) {
      _ = try file.read()
      return nil
    } catch {
      return error
    }
  }

  // It would catch a read that keeps what it has read, or that keeps the end of the line.
  @Test("each read has the content of its moment, without the end of its line")
  func reads() throws {
    let file = SecretFile(path: path)
    for (written, secret) in [("one", "one"), ("two\n", "two"), ("three\r\n", "three")] {
      try write(written)
      #expect(try file.read().reveal() == secret)
    }
  }

  // It would catch a content that is sent although it is none, and a pipe that stops the caller.
  @Test("what is no line of text is a problem of its own name")
  func problems() throws {
    let file = SecretFile(path: path, limit: 16)
    #expect(problem(file) == .missing)
    for (written, expected) in [
      ("", SecretFile.Problem.empty), ("\n", .empty), ("a\nb", .malformed), ("a\u{0}b", .malformed),
      ("a\n\n", .malformed),
      ("\t", .malformed), ("0123456789abcdefg", .tooLarge),
    ] {
      try write(written)
      #expect(problem(file) == expected, "\(written)")
    }
    try FileManager.default.removeItem(atPath: path)
    try Data([0xFF, 0x41]).write(to: URL(filePath: path))
    #expect(problem(file) == .malformed)
    try FileManager.default.removeItem(atPath: path)
    try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: true)
    #expect(problem(file) == .notRegular)
    try FileManager.default.removeItem(atPath: path)
    #expect(mkfifo(path, 0o600) == 0)
    #expect(problem(file) == .notRegular)
  }

  // It would catch a content that is sent although its user cannot send it, and a replacement that waits.
  @Test("a content that is not accepted leaves the last one in force, and without an interval each use has the newest")
  func accepts() throws {
    let reports = Locked<[String?]>([])
    let file = SecretFile(
      path: path, interval: .zero, clock: ManualClock(),
      report: { _, problem in reports.withLock { $0.append(problem) } },
      accepts: { !$0.reveal().hasPrefix("x") })
    for (written, expected) in [("one", "one"), ("x", "one"), ("xx", "one"), ("two", "two")] {
      try write(written)
      #expect(file.current()?.reveal() == expected)
    }
    #expect(reports.withLock { $0 } == [SecretFile.Problem.unsuitable.message, nil])
  }

  // It would catch a file that is read by its node: such a link is never seen to change.
  @Test("a symbolic link on the path that comes to lead elsewhere has the new content, within a second")
  func follows() throws {
    let clock = ManualClock()
    let file = SecretFile(path: directory.appending(path: "mount/token").path, clock: clock)
    for name in ["first", "second"] {
      let version = directory.appending(path: name)
      try FileManager.default.createDirectory(at: version, withIntermediateDirectories: true)
      try Data(name.utf8).write(to: version.appending(path: "token"))
      let link = directory.appending(path: "link-\(name)").path
      try FileManager.default.createSymbolicLink(atPath: link, withDestinationPath: version.path)
      #expect(rename(link, directory.appending(path: "mount").path) == 0)
      clock.advance(by: .seconds(1))
      #expect(file.current()?.reveal() == name)
    }
  }

  // It would catch a file that goes bad and takes its secret with it, and one report for each use.
  @Test("a file that becomes unusable keeps its content in force, and is reported once, as its repair is")
  func keeps() throws {
    let clock = ManualClock()
    let reports = Locked<[String?]>([])
    let file = SecretFile(path: path, clock: clock) { _, problem in reports.withLock { $0.append(problem) } }
    try write("good")
    #expect(file.current()?.reveal() == "good")
    try write("")
    for _ in 0..<3 {
      clock.advance(by: .seconds(1))
      #expect(file.current()?.reveal() == "good")
    }
    #expect(reports.withLock { $0 } == ["the file is empty"])
    try write("better")
    clock.advance(by: .seconds(1))
    #expect(file.current()?.reveal() == "better")
    #expect(reports.withLock { $0 } == ["the file is empty", nil])
  }

  // It would catch a look at the file for each request of a second.
  @Test("the file is looked at once a second")
  func looks() throws {
    let clock = ManualClock()
    let file = SecretFile(path: path, clock: clock)
    try write("one")
    #expect(file.current()?.reveal() == "one")
    try write("two, which is longer")
    #expect(file.current()?.reveal() == "one")
    clock.advance(by: .seconds(1))
    #expect(file.current()?.reveal() == "two, which is longer")
  }

  // It would catch a secret in a log.
  // It would catch a second caller that finds no secret, because the first one is still reading it.
  @Test("a caller during the very first read has the content, too")
  func duringTheFirstRead() throws {
    try write("one")
    let second = Locked<(file: SecretFile?, content: Secret<String>?)>((nil, nil))
    let file = SecretFile(path: path, clock: ManualClock()) { _, _ in
    } accepts: { _ in
      // The second caller, in the middle of the first one's read.
      let file = second.withLock { state in
        defer { state.file = nil }
        return state.file
      }
      if let file {
        let content = file.current()
        second.withLock { $0.content = content }
      }
      return true
    }
    second.withLock { $0.file = file }
    #expect(file.current()?.reveal() == "one")
    #expect(second.withLock { $0.content }?.reveal() == "one")
  }

  @Test("its description is its path")
  func isPrinted() throws {
    try write("hidden")
    let file = SecretFile(path: path)
    _ = file.current()
    #expect("\(file)" == "secret of \(path)")
    #expect(!"\(String(reflecting: file))".contains("hidden"))
  }
}
