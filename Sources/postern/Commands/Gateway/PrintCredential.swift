import ArgumentParser
import Glibc
import HTTPMessages
import PosternConfiguration
import PosternJSON
import PosternSupport

/// `postern credential --as FORM RESOURCE`: a credential for a program that connects to the resource itself.
struct PrintCredential: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "credential",
    abstract: "Prints a credential of a resource in the form of another program's helpers.",
    discussion: """
      Only where tokens.leaveTheSidecar is on; the gateway works without, and no token leaves then.
        git      a credential helper of git: reads what git writes, and prints a user name and the token
        docker   a credential helper of docker: reads the registry, and prints a user name and the token
        headers  a JSON object of header fields; with get, that of Bazel's helpers, which reads a URL first
        aws      credential_process of the AWS command line: fetches the resource, whose response has temporary keys

      git and docker get a token for the origins of the resource only, whose URL comes from the configuration file: \
      --config, else /etc/postern/postern.yaml, and never one in the working directory, which may be a repository of \
      other people.
      Exit code: 0 a credential, or nothing for this program, 1 an error, 2 no answer, or none \
      with a credential, 64 wrong arguments.

      Examples:
        postern credential --as headers billing
        postern credential --as git billing get --config /etc/postern/postern.yaml
        postern credential --as aws keys --path role/deploy
      """)

  /// The program whose helpers have this form.
  enum Form: String, ExpressibleByArgument, CaseIterable {
    case git, docker, headers, aws
  }

  @OptionGroup var options: SocketOptions

  @Option(help: "The configuration file, for the resource's URL.", completion: ConfigurationOption.completion)
  var config: String = DefaultConfiguration.system

  @Option(name: .customLong("as"), help: "The program that reads it: git, docker, headers or aws.")
  var form: Form

  @Option(
    help: "The session's handle, or only: the only live one of this uid. Needed for resources of users.")
  var session: String?

  @Option(help: "git and docker: the user name that goes with the token.")
  var username: String = "oauth2"

  @Flag(help: "git 2.46 or newer: the token goes as Authorization: Bearer instead of a password.")
  var bearer = false

  @Option(help: "aws: the path of the response with the keys, below the resource's URL.")
  var path: String = ""

  @Argument(
    help: "The resource's name in the configuration.", completion: .custom { _, _, _ in CompletionNames.resources() })
  var resource: String

  @Argument(help: "The operation, which the program adds itself: get, or one for which there is nothing to do.")
  var operation: String?

  func validate() throws {
    guard operation != nil || form == .headers || form == .aws else {
      throw ValidationError("--as \(form.rawValue) needs the operation, which \(form.rawValue) adds itself: get.")
    }
  }

  func run() throws {
    do {
      switch (form, operation) {
      case (.git, "get"): try printForGit()
      case (.docker, "get"): try printForDocker()
      case (.docker, "list"): print("{}")
      case (.docker, "store"): throw SocketClient.Failure(description: "the sidecar stores no credentials of docker")
      case (.headers, nil): print(JSONWriter().string(["Authorization": .string("Bearer \(try token().text)")]))
      case (.headers, "get"): try printForURL()
      case (.aws, nil): try printKeys()
      // A helper of git passes over an operation that it does not know, and there is nothing to erase.
      default: break
      }
    } catch let exit as ExitCode {
      throw exit
    } catch let failure as GatewayLocation.Failure {
      FailureNote.print(failure.description)
      throw ExitCode(1)
    } catch {
      FailureNote.print("\(error)")
      throw ExitCode(2)
    }
  }

  // MARK: - What the program reads

  private func printForGit() throws {
    var request: [String: String] = [:]
    for line in lines() {
      let name = line.prefix(beforeBytes: "=")
      guard name.utf8.count < line.utf8.count else { continue }
      request[String(name)] = String(decoding: line.utf8.dropFirst(name.utf8.count + 1), as: UTF8.self)
    }
    let location = "\(request["protocol"] ?? "")://\(request["host"] ?? "")/\(request["path"] ?? "")"
    guard try belongs(location, hasPath: request["path"] != nil) else { return }
    let token = try token()
    if bearer {
      print("capability[]=authtype\nauthtype=Bearer\ncredential=\(token.text)")
    } else {
      print("username=\(request["username"] ?? username)\npassword=\(token.text)")
    }
    if let expiry = token.expiry { print("password_expiry_utc=\(expiry.secondsSinceEpoch)") }
  }

  private func printForDocker() throws {
    let server = lines().first ?? ""
    // docker names a registry by its host alone, and its own one by a URL.
    guard try belongs(HTTPURL.hasScheme(server) ? server : "https://\(server)/", hasPath: false) else {
      // The text by which docker knows that there is none, and no error.
      print("credentials not found in native keychain")
      throw ExitCode(1)
    }
    let answer: JSONObject = [
      "ServerURL": .string(server), "Username": .string(username), "Secret": .string(try token().text),
    ]
    print(JSONWriter().string(.object(answer)))
  }

  private func printForURL() throws {
    let text = lines().joined(separator: "\n")
    let request = try? JSONParser(maxBytes: Self.maxInput).parse(Array(text.utf8))
    guard let location = request?["uri"]?.stringValue, try belongs(location, hasPath: true) else {
      return print(#"{"headers":{}}"#)
    }
    let token = try token()
    var answer: JSONObject = ["headers": ["Authorization": [.string("Bearer \(token.text)")]]]
    answer["expires"] = token.expiry.map { .string($0.rfc3339) }
    print(JSONWriter().string(.object(answer)))
  }

  private static let maxInput = 65_536

  private func lines() -> [String] {
    let bytes = StandardInput.readAll(atMost: Self.maxInput)
    let end = bytes.firstIndex(of: 0) ?? bytes.endIndex
    return String(decoding: bytes[..<end], as: UTF8.self).split(atByte: "\n").map { String($0) }
  }

  /// Whether the resource's token may go to `location`: to an origin of the resource, and below its path where the
  /// program names one.
  private func belongs(_ location: String, hasPath: Bool) throws -> Bool {
    let resource = try GatewayLocation(path: config).resource(resource)
    guard let url = try? HTTPURL(location) else { return false }
    return ([resource.locations.baseURL] + resource.locations.additionalOrigins).contains { text in
      guard let base = try? HTTPURL(text) else { return false }
      return hasPath ? url.lies(under: base) : url.origin == base.origin
    }
  }

  // MARK: - What the sidecar has

  private struct Token {
    let text: String
    let expiry: Timestamp?
  }

  private func token() throws -> Token {
    let result = try call("getAccessToken", ["resource": .string(resource)])
    // The protocols of the helpers are lines: another byte could be a line of its own.
    guard let text = result["accessToken"]?.stringValue, text.utf8.allSatisfy({ (0x21...0x7E).contains($0) }) else {
      throw SocketClient.Failure(description: "the token has a byte that no header field can have")
    }
    let expiry = result["expiresAt"]?.stringValue.flatMap { Timestamp(utc: "\($0.prefix(beforeBytes: ".", "Z"))Z") }
    return Token(text: text, expiry: expiry)
  }

  /// Temporary keys, in the members of a container's credentials at AWS, or of its IoT service.
  private func printKeys() throws {
    let result = try call("fetchResource", ["resource": .string(resource), "path": .string(path)])
    guard result["status"] == 200 else {
      let status = result["status"]?.integerValue ?? 0
      throw SocketClient.Failure(description: "\(resource) returns status \(status) for this path: see --path")
    }
    guard let body = result["body"]?.stringValue,
      let given = try? JSONParser(maxBytes: Self.maxInput).parse(Array(body.utf8))
    else {
      throw SocketClient.Failure(description: "the response of \(resource) is no JSON")
    }
    let keys = given["credentials"] ?? given["Credentials"] ?? given
    func member(_ names: String...) -> JSONValue? { names.lazy.compactMap { keys[$0] }.first }
    guard let identifier = member("AccessKeyId", "accessKeyId"),
      let secret = member("SecretAccessKey", "secretAccessKey")
    else {
      throw SocketClient.Failure(description: "the response of \(resource) has no AccessKeyId and SecretAccessKey")
    }
    var answer: JSONObject = ["Version": 1, "AccessKeyId": identifier, "SecretAccessKey": secret]
    answer["SessionToken"] = member("Token", "SessionToken", "sessionToken")
    answer["Expiration"] = member("Expiration", "expiration")
    print(JSONWriter().string(.object(answer)))
  }

  private func call(_ method: String, _ params: JSONObject) throws -> JSONValue {
    var params = params
    params["session"] = session.map { .string($0) }
    let answer = try CallMethod.exchange(
      ["jsonrpc": "2.0", "id": 1, "method": .string(method), "params": .object(params)], options)
    if let result = answer["result"] { return result }
    CallMethod.showError(answer["error"] ?? answer)
    throw ExitCode(1)
  }
}
