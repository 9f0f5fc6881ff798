import ArgumentParser
import Glibc
import PosternJSON
import PosternJSONRPC

/// `postern jose`: tokens by hand, offline.
struct JOSECommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "jose", abstract: "Verifies, decrypts or shows a token, offline.",
    subcommands: [VerifyToken.self, DecryptToken.self, InspectToken.self])

  func run() throws { throw ValidationError("A command is needed.") }
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
