import Glibc
import PosternJSON
import PosternObservability
import PosternSupport
import PosternTestSupport

/// A directory of a test's own, removed with it.
final class LogFolder: Sendable {
  let path: String
  let clock = ManualClock()
  let events = Locked<[AuditEvent]>([])

  init() throws {
    var template = Array("/tmp/postern-audit-XXXXXX".utf8CString)
    guard let made = mkdtemp(&template) else { throw AuditError("no directory") }
    path = String(cString: made)
  }

  deinit {
    for name in names + [".audit.log.lock"] { unlink("\(path)/\(name)") }
    rmdir(path)
  }

  /// The log's path.
  var log: String { "\(path)/audit.log" }

  /// The files in the directory, sorted, without the lock file.
  var names: [String] {
    guard let directory = opendir(path) else { return [] }
    defer { closedir(directory) }
    var names: [String] = []
    while let entry = readdir(directory) {
      names.append(
        withUnsafeBytes(of: &entry.pointee.d_name) { String(decoding: $0.prefix { $0 != 0 }, as: UTF8.self) })
    }
    return names.filter { !$0.hasPrefix(".") }.sorted()
  }

  func open(
    key: String? = nil, maxBytes: Int = 1 << 20, failClosed: Bool = true,
    onEvent: @escaping @Sendable (AuditEvent) -> Void = { _ in }
  ) throws -> AuditLog {
    let settings = AuditLog.Settings(
      path: log, key: key.map { Secret(Array($0.utf8)) }, maxBytes: maxBytes, failClosed: failClosed)
    let events = events
    return try AuditLog(settings, clock: clock) { event in
      events.withLock { $0.append(event) }
      onEvent(event)
    }
  }

  /// Opens the log, writes `count` records and closes it.
  func write(_ count: Int, key: String? = nil, maxBytes: Int = 1 << 20) async throws {
    let log = try open(key: key, maxBytes: maxBytes)
    for number in 0..<count { _ = await log.append(record(number)) }
    await log.close()
  }

  func record(_ number: Int) -> AuditRecord {
    AuditRecord(at: clock.wallNow, ["event": "decision", "outcome": "permit", "id": .string("resource-\(number)")])
  }

  /// A file's lines, without line feeds.
  func lines(_ name: String = "audit.log") throws -> [String] {
    let descriptor = Glibc.open("\(path)/\(name)", O_RDONLY)
    guard descriptor >= 0 else { throw AuditError("no \(name)") }
    defer { close(descriptor) }
    var text: [UInt8] = []
    var block = [UInt8](repeating: 0, count: 65_536)
    while true {
      let count = read(descriptor, &block, block.count)
      guard count > 0 else { break }
      text.append(contentsOf: block[..<count])
    }
    return String(decoding: text, as: UTF8.self).split(separator: "\n", omittingEmptySubsequences: false)
      .dropLast(text.last == 0x0A ? 1 : 0).map(String.init)
  }

  /// Replaces a file.
  func replace(_ text: String, name: String = "audit.log") throws {
    let descriptor = Glibc.open("\(path)/\(name)", O_WRONLY | O_CREAT | O_TRUNC, 0o600)
    guard descriptor >= 0 else { throw AuditError("no \(name)") }
    defer { close(descriptor) }
    let bytes = Array(text.utf8)
    guard Glibc.write(descriptor, bytes, bytes.count) == bytes.count else { throw AuditError("not written") }
  }

  /// Each line as JSON.
  func records(_ name: String = "audit.log") throws -> [JSONValue] {
    try lines(name).map { try JSONParser(allowsNUL: true).parse($0) }
  }

  /// The fault that the verifier finds; nil when there is none.
  func verify(
    _ names: [String] = ["audit.log"], key: String? = nil, atLeast: UInt64? = nil,
    containing: [AuditCheckpoint] = []
  ) throws -> String? {
    do {
      let seal = try AuditSeal(key: key.map { Secret(Array($0.utf8)) })
      _ = try AuditVerifier(seal).verify(
        names.map { "\(path)/\($0)" }, atLeast: atLeast, containing: containing)
      return nil
    } catch let error as AuditChainError {
      return String(error.description.dropFirst(path.utf8.count + 1))
    }
  }
}
