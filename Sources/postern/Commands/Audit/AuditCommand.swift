import ArgumentParser

/// `postern audit`: tools for audit logs.
struct AuditCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "audit", abstract: "Tools for audit logs.", subcommands: [VerifyAudit.self])

  func run() throws { throw ValidationError("A command is needed.") }
}
