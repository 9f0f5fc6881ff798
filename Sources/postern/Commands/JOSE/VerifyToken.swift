import ArgumentParser
import PosternJSON
import PosternJSONRPC
import Sidecar

/// `postern jose verify`.
struct VerifyToken: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "verify", abstract: "Verifies a compact JWS with a key or a key set.",
    discussion: """
      Only the signature is checked, no claim. Exit code: 0 valid, 1 not valid, 2 not decided.

      Examples:
        postern jose verify --jwks keys.json < token.txt
      """)

  @Option(help: "File with a JWK Set.")
  var jwks: KeyFile?

  @Option(help: "File with a JWK.")
  var jwk: KeyFile?

  @Option(
    name: .customLong("algorithm"), help: "An algorithm to accept; may be repeated. Default: all that fit the key.")
  var algorithms: [String] = []

  @OptionGroup var token: TokenArgument

  func validate() throws {
    guard (jwks == nil) != (jwk == nil) else { throw ValidationError("Give either --jwks or --jwk.") }
  }

  func run() throws {
    var params: JSONObject = [:]
    if let jwks { params["jwks"] = try jwks.read() }
    if let jwk { params["jwk"] = try jwk.read() }
    if !algorithms.isEmpty { params["algorithms"] = .array(algorithms.map(JSONValue.string)) }
    params["jws"] = .string(token.read())
    try JOSEReport.print { () throws(RPCFault) in try OfflineMethods.verifyJWS(.object(params)) }
  }
}
