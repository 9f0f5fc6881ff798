import ArgumentParser
import PosternJSON
import PosternJSONRPC
import PosternSupport
import Sidecar

/// `postern jose inspect`.
struct InspectToken: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "inspect",
    abstract: "Shows a token's header and claims, and the reasons for which a validation would reject it.",
    discussion: """
      Nothing it prints is trusted: a token that shows no fault here may still be forged. With --jwks the signature is \
      checked too. Exit code: 0 when a report was printed, 2 for an invalid option.

      Examples:
        postern jose inspect < token.txt
        postern jose inspect --jwks keys.json --audience shop < token.txt
      """)

  @Option(help: "File with a JWK Set to check the signature with.")
  var jwks: KeyFile?

  @Option(help: "Expected issuer (iss).")
  var issuer: String?

  @Option(help: "Expected audience: the client's id, or the resource of an access token.")
  var audience: String?

  @OptionGroup var token: TokenArgument

  func run() throws {
    let keySet = try jwks?.read()
    try JOSEReport.print { () throws(RPCFault) in
      try OfflineMethods.inspect(
        token.read(), issuer: issuer, audience: audience, keySet: keySet, clock: SystemClock())
    }
  }
}
