import ArgumentParser
import Glibc
import PosternObservability
import PosternSupport

/// `postern audit`: tools for audit logs.
struct AuditCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "audit", abstract: "Tools for audit logs.", subcommands: [VerifyAudit.self])

  func run() throws { throw ValidationError("A command is needed.") }
}

/// `postern audit verify`.
struct VerifyAudit: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "verify", abstract: "Verifies that an audit log is whole.",
    discussion: """
      Give full files and the one in use together, in any order: their records must follow each other. Prints the first line \
      that was changed, removed, inserted or moved. Exit code: 0 whole, 1 broken, 2 not decided.

      Examples:
        postern audit verify /var/lib/postern/audit.log --key-file audit.key
      """)

  @Argument(help: "The files of one log.", completion: .file())
  var files: [String]

  @Option(help: "File with the key of the log (audit.keyFile).", completion: .file())
  var keyFile: String?

  @Option(
    help:
      "The number of a record that the log must contain, from the metric postern_audit_sequence: detects a log whose end was cut off."
  )
  var atLeast: UInt64?

  @Option(
    help: "A record that the log must contain, from the ordinary log (NUMBER:HASH); may be given several times.",
    transform: { text in
      guard let checkpoint = AuditCheckpoint(text) else {
        throw ValidationError("'\(text)' is no NUMBER:ALGORITHM:DIGITS")
      }
      return checkpoint
    })
  var contains: [AuditCheckpoint] = []

  func run() throws {
    do {
      let report = try AuditVerifier(try AuditSeal(key: try key())).verify(
        files, atLeast: atLeast, containing: contains)
      print("records \(report.first) to \(report.last) are whole, in \(report.files.count) file(s)")
      if report.first > 1 { print("records before \(report.first) are in files that were not given") }
      if !report.isClosed { print("the log was not closed: it is being written, or ended with a crash, or was cut") }
      print("last hash: \(report.hash)")
    } catch let error as AuditChainError {
      FailureNote.print(error.description)
      throw ExitCode(1)
    } catch let error as AuditError {
      FailureNote.print(error.description)
      throw ExitCode(2)
    }
  }

  private func key() throws(AuditError) -> Secret<[UInt8]>? {
    guard let keyFile else { return nil }
    let descriptor = open(keyFile, O_RDONLY | O_CLOEXEC)
    guard descriptor >= 0 else { throw AuditError("\(keyFile): \(SystemError.text())") }
    defer { close(descriptor) }
    return Secret(StandardInput.readAll(from: descriptor, atMost: 1 << 20))
  }
}
