import Glibc
import PosternSupport

/// Verifies audit logs: one file, or consecutive ones.
public struct AuditVerifier: Sendable {
  /// The result for an intact chain.
  public struct Report: Sendable, Hashable {
    /// The files in the order of their records.
    public let files: [String]
    /// The first record's number. If above 1, earlier records are in files that were not given.
    public let first: UInt64
    /// The last record's number.
    public let last: UInt64
    /// The last record's hash.
    public let hash: String
    /// Whether the log was closed, according to its last record; otherwise it is being written, or was truncated, by a
    /// crash or on purpose.
    public let isClosed: Bool
  }

  private let seal: AuditSeal

  /// A verifier of records under `seal`.
  public init(_ seal: AuditSeal) { self.seal = seal }

  /// Verifies `files`, which may be in any order. With `atLeast` the chain must reach that record, which detects a
  /// truncated end. It must contain each record of `containing`, which detects an end that was truncated and written
  /// again. Throws `AuditChainError` for the first fault, or `AuditError` when a file cannot be read.
  public func verify(
    _ files: [String], atLeast: UInt64? = nil, containing checkpoints: [AuditCheckpoint] = []
  ) throws -> Report {
    let files = try ordered(files)
    var check = AuditChainCheck(seal)
    let noted = Dictionary(grouping: checkpoints, by: \.sequence)
    for file in files { try verify(file, noted, &check) }
    let atLeast = [atLeast, noted.keys.max()].compactMap(\.self).max()
    if let atLeast, check.last < atLeast {
      throw AuditChainError(
        file: files.last ?? "", line: 0,
        reason: "records \(check.last + 1) to \(atLeast) are missing at its end: the file was truncated")
    }
    if let first = check.first, let earliest = noted.keys.min(), earliest < first {
      throw AuditError("record \(earliest) is in a file that was not given: the first one here is \(first)")
    }
    return Report(
      files: files, first: check.first ?? 0, last: check.last, hash: check.hash, isClosed: check.isClosed)
  }

  private func verify(
    _ file: String, _ noted: [UInt64: [AuditCheckpoint]], _ check: inout AuditChainCheck
  ) throws {
    var lines = try AuditFileLines(file)
    var number = 0
    while true {
      number += 1
      switch try lines.next() {
      case .line(let bytes):
        if let reason = check.problem(with: bytes, beginsFile: number == 1) {
          throw AuditChainError(file: file, line: number, reason: reason)
        }
        for checkpoint in noted[check.last] ?? [] where checkpoint.hash != check.hash {
          throw AuditChainError(
            file: file, line: number,
            reason: "record \(check.last) is not the one that was noted: it was written again")
        }
      case .unfinished:
        throw AuditChainError(
          file: file, line: number, reason: "the file ends within this line: it was truncated, or is being written")
      case .tooLong: throw AuditChainError(file: file, line: number, reason: "the line is longer than any record")
      case .end:
        guard number > 1 else { throw AuditChainError(file: file, line: 0, reason: "the file is empty") }
        return
      }
    }
  }

  /// The files by the number of their first record. A file without a first record comes first, and fails verification.
  private func ordered(_ files: [String]) throws -> [String] {
    guard files.count > 1 else { return files }
    let firsts = try files.map { file -> (file: String, first: UInt64) in
      var lines = try AuditFileLines(file)
      guard case .line(let bytes) = try lines.next(), let line = AuditLine(bytes) else { return (file, 0) }
      return (file, line.sequence)
    }
    return firsts.enumerated().sorted { ($0.element.first, $0.offset) < ($1.element.first, $1.offset) }
      .map(\.element.file)
  }
}

/// Verifies the lines of a chain one after the other.
struct AuditChainCheck {
  private let seal: AuditSeal
  /// The first record's number; nil before it.
  private(set) var first: UInt64?
  /// The last record's number.
  private(set) var last: UInt64 = 0
  /// The last record's hash.
  private(set) var hash = AuditSeal.none
  /// Whether the last record is the one that closes the log.
  private(set) var isClosed = false

  init(_ seal: AuditSeal) { self.seal = seal }

  /// The fault of the next line, which may be the first of a file; nil when there is none.
  mutating func problem(with bytes: ArraySlice<UInt8>, beginsFile: Bool) -> String? {
    guard let line = AuditLine(bytes) else {
      return "this is no record: the line was changed, or was not written by the sidecar"
    }
    let number = line.sequence
    guard line.algorithm == seal.algorithm else {
      return seal.algorithm == "sha256"
        ? "record \(number) is sealed with \(line.algorithm): give its key with --key-file"
        : "record \(number) is not sealed with the key: it was written, or replaced, without the key"
    }
    guard seal.hash(line.text) == line.hash else {
      return seal.algorithm == "sha256"
        ? "record \(number) was changed: its hash does not match its text"
        : "record \(number) was changed, or sealed with another key: its hash does not match its text"
    }
    if let problem = order(line, beginsFile: beginsFile) { return problem }
    first = first ?? number
    last = number
    hash = line.hash
    isClosed = line.logEvent == "closed"
    return nil
  }

  private func order(_ line: AuditLine, beginsFile: Bool) -> String? {
    let number = line.sequence
    if beginsFile, line.logEvent != "begun", line.logEvent != "continued" {
      return "the file does not begin with its own first record: lines before record \(number) were removed"
    }
    if line.logEvent == "begun", number != 1 || line.previous != AuditSeal.none {
      return "record \(number) starts a log, but is not its first record"
    }
    guard first != nil else {
      guard number > 1 || line.logEvent == "begun" else { return "record 1 does not start a log" }
      return nil
    }
    if line.logEvent == "begun" { return "another log starts here, which does not continue after record \(last)" }
    if number <= last {
      return "record \(number) is a duplicate or out of order: record \(last + 1) was expected"
    }
    guard number == last + 1 else {
      let gap = number == last + 2 ? "record \(last + 1) is" : "records \(last + 1) to \(number - 1) are"
      return "\(gap) missing before record \(number): removed, or moved elsewhere"
    }
    guard line.previous == hash else {
      return "record \(number) does not follow record \(last): one of them was replaced"
    }
    return nil
  }
}

/// The first fault of a chain, and its position.
public struct AuditChainError: Error, Sendable, Hashable, CustomStringConvertible {
  /// The file.
  public let file: String
  /// The line, from 1; 0 for the file as a whole.
  public let line: Int
  /// The fault, for people.
  public let reason: String

  /// `FILE:LINE: reason`.
  public var description: String { line > 0 ? "\(file):\(line): \(reason)" : "\(file): \(reason)" }
}

/// Reads the lines of a file one after another, in bounded memory.
struct AuditFileLines: ~Copyable {
  /// The result of reading on.
  enum Next {
    /// A line, without its line feed.
    case line(ArraySlice<UInt8>)
    /// The file ends without a line feed.
    case unfinished
    /// A line that is longer than any record.
    case tooLong
    /// The end of the file.
    case end
  }

  private static let blockBytes = 256 << 10

  private let descriptor: Int32
  private let path: String
  private var buffer: [UInt8] = []
  private var start = 0
  private var isAtEnd = false

  /// Opens the file, without blocking when it is a pipe.
  init(_ path: String) throws(AuditError) {
    descriptor = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK)
    self.path = path
    guard descriptor >= 0 else { throw AuditError("\(path): \(SystemError.text())") }
    var status = stat()
    guard fstat(descriptor, &status) == 0, status.st_mode & S_IFMT == S_IFREG else {
      throw AuditError("\(path): is not a regular file")
    }
  }

  deinit { close(descriptor) }

  /// The next line.
  mutating func next() throws(AuditError) -> Next {
    var searched = start
    while true {
      if let end = buffer[searched...].firstIndex(of: UInt8(ascii: "\n")) {
        defer { start = end + 1 }
        return .line(buffer[start..<end])
      }
      if isAtEnd { return start < buffer.count ? .unfinished : .end }
      guard buffer.count - start <= AuditLine.longest else { return .tooLong }
      buffer.removeFirst(start)
      start = 0
      searched = buffer.count
      try fill()
    }
  }

  private mutating func fill() throws(AuditError) {
    let used = buffer.count
    buffer.append(contentsOf: repeatElement(0, count: Self.blockBytes))
    while true {
      let count = buffer.withUnsafeMutableBytes {
        read(descriptor, $0.baseAddress.map { $0 + used }, Self.blockBytes)
      }
      if count < 0, errno == EINTR { continue }
      guard count >= 0 else { throw AuditError("\(path): \(SystemError.text())") }
      buffer.removeLast(Self.blockBytes - count)
      isAtEnd = count == 0
      return
    }
  }
}
