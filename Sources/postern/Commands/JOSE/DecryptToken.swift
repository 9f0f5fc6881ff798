import ArgumentParser
import PosternJSON
import PosternJSONRPC
import Sidecar

/// `postern jose decrypt`.
struct DecryptToken: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "decrypt", abstract: "Decrypts a compact JWE with a key.",
    discussion: """
      Exit code: 0 decrypted, 1 not decrypted, 2 not decided.

      Examples:
        postern jose decrypt --jwk private.json < token.txt
      """)

  @Option(help: "File with the private or shared JWK.")
  var jwk: KeyFile

  @Option(
    name: .customLong("algorithm"),
    help: "A key management algorithm to accept; may be repeated. Default: all but PBES2, which must be named.")
  var algorithms: [String] = []

  @OptionGroup var token: TokenArgument

  func run() throws {
    var params: JSONObject = ["jwk": try jwk.read()]
    if !algorithms.isEmpty { params["algorithms"] = .array(algorithms.map(JSONValue.string)) }
    params["jwe"] = .string(token.read())
    try JOSEReport.print { () throws(RPCFault) in try OfflineMethods.decryptJWE(.object(params)) }
  }
}
