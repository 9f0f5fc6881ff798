import ArgumentParser
import Glibc
import PosternJSON

/// `postern call METHOD [PARAMS]`.
struct CallMethod: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "call",
    abstract: "Calls a method of a running sidecar and prints the answer.",
    discussion: """
      Prints the result (or the error) as indented JSON on a terminal, as one line in a pipe.
      Exit code: 0 result, 1 the sidecar answered with an error, 2 no answer.

      Examples:
        postern call getInfo
        postern call fetchResource '{"resource":"billing","path":"invoices"}'
        postern call fetchResource - < params.json
      """
  )

  @OptionGroup var options: SocketOptions

  @Argument(help: "The method's name, e.g. getInfo.")
  var method: String

  @Argument(help: "The params, a JSON object; - reads them from standard input.")
  var params: String?

  func run() throws {
    let params = try readParams()
    var request: JSONObject = ["jsonrpc": "2.0", "id": 1, "method": .string(method)]
    if let params { request["params"] = params }
    let answer: JSONValue
    do {
      answer = try Self.exchange(.object(request), options)
    } catch {
      FailureNote.print("\(error)")
      throw ExitCode(2)
    }
    let writer = JSONWriter(pretty: isatty(1) == 1)
    if let result = answer["result"] {
      print(writer.string(result))
    } else {
      print(writer.string(answer["error"] ?? answer))
      throw ExitCode(1)
    }
  }

  private func readParams() throws -> JSONValue? {
    guard let params else { return nil }
    let text = params == "-" ? StandardInput.readAll() : Array(params.utf8)
    do {
      return try JSONParser(allowsNUL: true).parse(text)
    } catch {
      throw ValidationError("The params are \(error).")
    }
  }

  /// Sends `request` and waits for the answer with its id; notifications in between are passed over.
  static func exchange(_ request: JSONValue, _ options: SocketOptions) throws -> JSONValue {
    var client = try SocketClient(path: options.path, timeout: options.bound)
    try client.send(JSONWriter().write(request))
    while true {
      let answer = try JSONParser(maxBytes: .max, maxDepth: 2048, allowsNUL: true).parse(client.receiveLine())
      if answer["method"] == nil { return answer }
    }
  }
}
