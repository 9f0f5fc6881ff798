import ArgumentParser

/// `postern jose`: tokens by hand, offline.
struct JOSECommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "jose", abstract: "Verifies, decrypts or shows a token, offline.",
    subcommands: [VerifyToken.self, DecryptToken.self, InspectToken.self])

  func run() throws { throw ValidationError("A command is needed.") }
}
