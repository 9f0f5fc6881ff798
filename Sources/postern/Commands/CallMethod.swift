import ArgumentParser
import Glibc
import PosternJSON
import PosternProtocol
import PosternSupport

/// `postern call METHOD [PARAMS…]`.
struct CallMethod: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "call",
    abstract: "Calls a method of a running sidecar and prints the result.",
    discussion: """
      The params are one JSON object, or one word each:
        name=value     a string
        name:=JSON     any JSON: number, boolean, list, object
        name=@FILE     the text of a file, as it is
        name:=@FILE    the JSON in a file
        @FILE          all params, as a JSON object in a file
        -              all params, from standard input, which is @- for one param
      At most one word has all params, and the others add to it.

      A call without a session is a call of nobody. On a terminal, where the uid is the person, a call that needs a \
      session is made with session=only then: the only live one of this uid. A script names it: session=HANDLE, or \
      session=only.

      Prints the result on standard output, an error on standard error: indented JSON on a terminal, else one line.
      Exit code: 0 result, 1 the sidecar answered with an error, 2 no answer, 64 wrong arguments.

      Examples:
        postern call getInfo
        postern call fetchResource resource=billing path=invoices/7
        postern call fetchResource path=invoices parameters:='{"year":2026}'
        postern call fetchResource '{"resource":"billing","path":"invoices/7"}'
        echo '{"path":"invoices"}' | postern call fetchResource - resource=billing
      """
  )

  /// As large as the longest message that a sidecar can be configured to accept.
  private static let maxFileBytes = 1 << 30

  @OptionGroup var options: SocketOptions

  @Argument(
    help: "The method's name, e.g. getInfo.",
    completion: .custom { _, _, _ in CompletionNames.methods })
  var method: String

  @Argument(
    help: "The params: name=value, name:=JSON, @FILE, - (standard input) or a JSON object.",
    completion: .custom { words, index, _ in CompletionNames.params(words, at: index) })
  var params: [String] = []

  func run() throws {
    var request: JSONObject = ["jsonrpc": "2.0", "id": 1, "method": .string(method)]
    request["params"] = try Self.params(of: params, command: "call")
    let answer: JSONValue
    do {
      answer = try NamedSession.addingOnly(to: request) { try Self.exchange(.object($0), options) }
    } catch {
      FailureNote.print("\(error)")
      throw ExitCode(2)
    }
    guard let result = answer["result"] else {
      Self.showError(answer["error"] ?? answer)
      showHint(answer["error"])
      throw ExitCode(1)
    }
    print(JSONWriter(pretty: isatty(1) == 1).string(result))
  }

  /// The params that the words of `command` make; nil without any.
  static func params(of words: [String], command: String) throws -> JSONValue? {
    do throws(ParamsArguments.Failure) {
      return try ParamsArguments.params(of: words, read: read)
    } catch {
      FailureNote.print("\(error); see postern \(command) --help")
      throw ExitCode.validationFailure
    }
  }

  /// Prints a sidecar's error on standard error.
  static func showError(_ error: JSONValue) {
    FailureNote.write(JSONWriter(pretty: isatty(2) == 1).string(error))
  }

  /// Shows a person who has written `name=value` for a param of another type how to write it. A program reads the error
  /// alone.
  private func showHint(_ error: JSONValue?) {
    guard isatty(2) == 1, let path = error?["data"]?["path"]?.stringValue, path.startsWithBytes(of: "/"),
      error?["message"]?.stringValue?.endsWithBytes(of: "not string") == true
    else { return }
    let name = path.dropFirst()
    guard params.contains(where: { $0.startsWithBytes(of: "\(name)=") }) else { return }
    FailureNote.print("\(name)=… is a string; a number, a list or an object is \(name):=JSON")
  }

  /// Sends `request` and waits for the answer with its id; notifications in between are passed over.
  static func exchange(_ request: JSONValue, _ options: SocketOptions) throws -> JSONValue {
    var client = try SocketClient(path: options.path, timeout: options.bound)
    return try exchange(request, with: &client, within: options.bound)
  }

  /// As above, on a connection that stays.
  static func exchange(
    _ request: JSONValue, with client: inout SocketClient, within bound: Duration
  ) throws -> JSONValue {
    try client.send(JSONWriter().write(request))
    // The process that listens there may send notifications without end; a stream is not read this way.
    let end = SystemClock().monotonicNow + bound
    while true {
      guard SystemClock().monotonicNow <= end else { throw SocketClient.Failure(description: "no answer in time") }
      let answer = try JSONParser(maxBytes: .max, maxDepth: 2048, allowsNUL: true).parse(client.receiveLine())
      if answer["method"] == nil { return answer }
    }
  }

  /// Reads a file, a pipe or standard input.
  private static func read(_ path: String) throws(ParamsArguments.Failure) -> [UInt8] {
    let descriptor = path == "-" ? 0 : open(path, O_RDONLY | O_CLOEXEC)
    guard descriptor >= 0 else { throw ParamsArguments.Failure("\(path): \(SystemError.text())") }
    defer { if descriptor > 0 { close(descriptor) } }
    var status = stat()
    guard fstat(descriptor, &status) == 0, status.st_mode & S_IFMT != S_IFDIR else {
      throw ParamsArguments.Failure("\(path) is not a file")
    }
    let bytes = StandardInput.readAll(from: descriptor, atMost: maxFileBytes + 1)
    guard bytes.count <= maxFileBytes else { throw ParamsArguments.Failure("\(path) is larger than 1 GiB") }
    return bytes
  }
}
