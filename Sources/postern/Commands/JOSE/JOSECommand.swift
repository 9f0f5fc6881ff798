import ArgumentParser
import Glibc
import PosternJSON
import PosternJSONRPC
import PosternSupport
import Sidecar

/// `postern jose`: tokens by hand, offline.
struct JOSECommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "jose", abstract: "Verifies, decrypts or shows a token, or a certificate, offline.",
    subcommands: [VerifyToken.self, DecryptToken.self, InspectToken.self, ShowCertificate.self])

  func run() throws { throw ValidationError("A command is needed.") }
}

/// `postern jose certificate`.
struct ShowCertificate: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "certificate",
    abstract: "Prints a client certificate as issuers register it: its thumbprint, and a JWK Set with it (x5c).",
    discussion: """
      For self_signed_tls_client_auth (RFC 8705): register the printed `jwks` for the client. Exit code: 0, or 2 for a \
      file without a usable certificate.

      Example:
        postern jose certificate /etc/postern/shop.pem
      """)

  @Argument(help: "PEM file of the certificate; - reads it from standard input.", completion: .file())
  var file: String

  func run() throws {
    let text: [UInt8]
    if file == "-" {
      text = StandardInput.readAll(atMost: 1 << 17)
    } else {
      text = try KeyFile.contents(of: file)
    }
    try JOSEReport.print { () throws(RPCFault) in try OfflineMethods.registration(ofCertificate: text) }
  }
}

/// Prints the result of an offline method, as `postern call` would.
enum JOSEReport {
  /// Exit code 0: what `body` returned, unless that has `valid: false`, which is 1; 2 when it could not be decided.
  static func print(_ body: () throws(RPCFault) -> JSONValue) throws {
    let writer = JSONWriter(pretty: isatty(1) == 1)
    let result: JSONValue
    do throws(RPCFault) {
      result = try body()
    } catch {
      FailureNote.print("\(error.code.reason): \(error.message)")
      throw ExitCode(2)
    }
    Swift.print(writer.string(result))
    if result["valid"]?.boolValue == false { throw ExitCode(1) }
  }
}

/// The token a command works on.
struct TokenArgument: ParsableArguments {
  @Argument(help: "The token; - (or nothing) reads it from standard input, which keeps it out of the process list.")
  var token: String = "-"

  /// The token, without the line end that a pipe adds.
  func read() -> String {
    guard token == "-" else { return token }
    // Larger than any token: the method rejects it for its size.
    var bytes = StandardInput.readAll(atMost: 1 << 17)
    while let last = bytes.last, last == UInt8(ascii: "\n") || last == UInt8(ascii: "\r") { bytes.removeLast() }
    return String(decoding: bytes, as: UTF8.self)
  }
}
