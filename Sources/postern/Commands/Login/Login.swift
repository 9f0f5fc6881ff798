import ArgumentParser
import Glibc
import LoopbackLogin
import PosternJSON
import PosternSupport

/// `postern login ISSUER`: a user logs in with a browser, and the sidecar has a session (RFC 8252).
struct Login: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "login",
    abstract: "Logs a user in with a browser and prints the session.",
    discussion: """
      Opens the browser at the issuer, or prints the address to open, and waits for the redirect to a local port: the \
      issuer's redirectUri if that is a loopback address; otherwise, or with --port, http://127.0.0.1[:PORT]/callback, \
      which must be registered at the issuer (without --port: for any port).
      Exit code: 0 there is a session, 1 the login failed, 2 no sidecar, or the browser did not come back in time.

      Examples:
        postern login corp
        postern login corp --no-browser --port 8765
      """)

  @OptionGroup var options: SocketOptions

  @Argument(
    help: "The issuer's name in the configuration.", completion: .custom { _, _, _ in CompletionNames.issuers() })
  var issuer: String

  @Option(help: "Scope to request; default: the issuer's, and what its users' resources need.")
  var scope: String?

  @Option(help: "Port for the redirect; 0 takes any free one. Default: the port of the issuer's redirectUri.")
  var port: UInt16?

  @Option(help: "How many seconds to wait for the user.")
  var wait: Int = 300

  @Flag(inversion: .prefixedNo, help: "Whether to open a browser; the address is printed in any case.")
  var browser = true

  func validate() throws {
    guard (1...600).contains(wait) else { throw ValidationError("--wait must be from 1 to 600.") }
  }

  func run() throws {
    do {
      let configured = port == nil ? try beginAsConfigured() : nil
      var receiver = try LoopbackReceiver(
        at: configured?.redirect ?? LoopbackRedirect(port: port ?? 0), note: { FailureNote.print($0) })
      let redirectURI = receiver.redirectURI
      let begun = try configured?.begun ?? result(of: begin(redirectURI: redirectURI))
      let url = begun["authorizationUrl"]?.stringValue ?? ""
      FailureNote.print("open \(url)")
      if browser { Browser.open(url) }
      try show(result(of: outcome(&receiver, state: begun["state"]?.stringValue ?? "")))
    } catch let exit as ExitCode {
      throw exit
    } catch {
      FailureNote.print("\(error)")
      throw ExitCode(2)
    }
  }

  /// A login at the redirect URI that is configured for the issuer.
  private struct Configured {
    let redirect: LoopbackRedirect
    /// The result of `beginAuthorization`; nil while the port is not known yet.
    let begun: JSONValue?
  }

  /// Begins the login where the issuer's redirect URI leads to this machine; nil where it does not, or there is none.
  private func beginAsConfigured() throws -> Configured? {
    let answer = try begin(redirectURI: nil)
    if answer["error"]?["code"] == .integer(Self.invalidParams), answer["error"]?["data"]?["path"] == "/redirectUri" {
      return nil
    }
    let begun = try result(of: answer)
    guard let redirect = begun["redirectUri"]?.stringValue.flatMap({ LoopbackRedirect($0) }) else { return nil }
    guard redirect.port != 0 else { return Configured(redirect: redirect, begun: nil) }
    return Configured(redirect: redirect, begun: begun)
  }

  private func begin(redirectURI: String?) throws -> JSONValue {
    var params: JSONObject = ["issuer": .string(issuer)]
    params["redirectUri"] = redirectURI.map { .string($0) }
    params["scope"] = scope.map { .string($0) }
    return try call("beginAuthorization", params)
  }

  /// The answer to the callback of this login. Any page in the browser can ask for the callback, too: one with a state
  /// that the sidecar does not know, or one that cannot be read, is not what is waited for.
  private func outcome(_ receiver: inout LoopbackReceiver, state: String) throws -> JSONValue {
    let deadline = Deadline(in: .seconds(wait), on: SystemClock())
    while true {
      let visit = try receiver.nextVisit(by: deadline)
      // Of this login: an earlier one may still be under way in another window.
      guard LoopbackRedirect.state(in: visit.url) == state else {
        visit.answer(.notThisLogin)
        FailureNote.print("a callback of another login came; still waiting")
        continue
      }
      do {
        let answer = try call(
          "completeAuthorization", ["callbackUrl": .string(visit.url), "state": .string(state)])
        guard case .integer(let code)? = answer["error"]?["code"], Self.strange.contains(code) else {
          visit.answer(answer["result"] == nil ? .failed : .done)
          return answer
        }
        visit.answer(.notThisLogin)
        let came =
          code == Self.stateUnknown ? "of another or expired login came" : "came that cannot be read"
        FailureNote.print("a callback \(came); still waiting")
      } catch {
        visit.answer(.failed)
        throw error
      }
    }
  }

  /// `state_unknown` of the wire contract.
  private static let stateUnknown: Int64 = 5006
  /// `invalid_params` of JSON-RPC.
  private static let invalidParams: Int64 = -32602
  /// The errors of callbacks that any page can make up.
  private static let strange: Set<Int64> = [stateUnknown, invalidParams]

  private func call(_ method: String, _ params: JSONObject) throws -> JSONValue {
    try CallMethod.exchange(
      ["jsonrpc": "2.0", "id": 1, "method": .string(method), "params": .object(params)], options)
  }

  private func result(of answer: JSONValue) throws -> JSONValue {
    if let result = answer["result"] { return result }
    CallMethod.showError(answer["error"] ?? answer)
    throw ExitCode(1)
  }

  private func show(_ value: JSONValue) { print(JSONWriter(pretty: isatty(1) == 1).string(value)) }
}
