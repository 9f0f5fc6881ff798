/// Verifies audit logs: one file, or several that follow each other.
public struct AuditVerifier: Sendable {
  /// What a whole chain is like.
  public struct Report: Sendable, Hashable {
    /// The files in the order of their records.
    public let files: [String]
    /// The first record's number. Above 1 what came before it is in files that were not given.
    public let first: UInt64
    /// The last record's number.
    public let last: UInt64
    /// The last record's hash.
    public let hash: String
    /// Whether the last record says that the log was closed in order: else it is being written, or was cut off by a
    /// crash or by somebody.
    public let isClosed: Bool
  }

  private let seal: AuditSeal

  /// A verifier of records under `seal`.
  public init(_ seal: AuditSeal) { self.seal = seal }

  /// Verifies `files`, in whatever order they are given; with `atLeast` the chain must reach that record, which tells
  /// whether its end was cut off. It must hold each record of `containing` as it was noted down: an end that was cut
  /// off and written anew has others. Throws the first break, or that a file cannot be read.
  public func verify(
    _ files: [String], atLeast: UInt64? = nil, containing checkpoints: [AuditCheckpoint] = []
  ) throws -> Report {
    let files = try ordered(files)
    var check = AuditChainCheck(seal)
    let noted = Dictionary(grouping: checkpoints, by: \.sequence)
    for file in files { try verify(file, noted, &check) }
    let atLeast = [atLeast, noted.keys.max()].compactMap(\.self).max()
    if let atLeast, check.last < atLeast {
      throw AuditBreak(
        file: files.last ?? "", line: 0,
        reason: "records \(check.last + 1) to \(atLeast) are missing at its end: the file was cut")
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
          throw AuditBreak(file: file, line: number, reason: reason)
        }
        for checkpoint in noted[check.last] ?? [] where checkpoint.hash != check.hash {
          throw AuditBreak(
            file: file, line: number,
            reason: "record \(check.last) is another than the one that was noted down: it was written anew")
        }
      case .unfinished:
        throw AuditBreak(
          file: file, line: number, reason: "the file ends within this line: it was cut, or is being written")
      case .tooLong: throw AuditBreak(file: file, line: number, reason: "the line is longer than any record")
      case .end:
        guard number > 1 else { throw AuditBreak(file: file, line: 0, reason: "the file is empty") }
        return
      }
    }
  }

  /// By the number of each file's first record; a file that has none stays where it was given, and is found broken
  /// there.
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
