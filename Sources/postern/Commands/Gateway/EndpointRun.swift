import ArgumentParser
import Glibc
import PosternConfiguration
import PosternJSON
import PosternProtocol
import PosternRuntime
import PosternSupport

/// The limits of a program with an endpoint of its own.
struct EndpointOptions: ParsableArguments {
  @Option(
    help: ArgumentHelp("A resource that it reaches; may be given several times.", valueName: "NAME"),
    completion: .custom { _, _, _ in CompletionNames.resources() })
  var resource: [String] = []

  @Option(
    name: .customLong("for"),
    help: ArgumentHelp(
      "How long it may: 10m, 30s, 1h, or seconds. Default: as long as the program runs.", valueName: "TIME"))
  var life: EndpointLife?

  @Option(help: ArgumentHelp("An HTTP method that it may use; may be given several times.", valueName: "METHOD"))
  var httpMethod: [String] = []

  @Option(
    help: ArgumentHelp(
      "A path below baseUrl that it may use, with / at the end also what is below; may be given several times.",
      valueName: "PATH"))
  var path: [String] = []

  @Option(
    help: ArgumentHelp(
      "A method of the sidecar that it may call, instead of those that a fetch needs; may be given several times.",
      valueName: "METHOD"))
  var rpcMethod: [String] = []

  @Option(
    help: ArgumentHelp(
      "The session of its requests: a handle, or only, the only live one of this uid. Default on a terminal: only, if there is one.",
      valueName: "HANDLE"))
  var session: String?

  @Option(help: "Its name in lists and in the audit log. Default: the program's name.")
  var label: String?

  @OptionGroup var socket: SocketOptions

  func validate() throws {
    let others =
      [httpMethod, path, rpcMethod].contains { !$0.isEmpty } || session != nil || label != nil || life != nil
    guard !resource.isEmpty || !others else {
      throw ValidationError("--for and the other limits of an endpoint need --resource.")
    }
  }
}

/// A time with a unit, or in seconds.
struct EndpointLife: ExpressibleByArgument {
  let milliseconds: Int64

  init?(argument: String) {
    let hasUnit = argument.utf8.last.map { !(UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) } ?? true
    guard let duration = try? Units.duration(of: hasUnit ? argument : "\(argument)s"), duration > .zero else {
      return nil
    }
    milliseconds = Int64(clamping: duration.wholeMilliseconds)
  }
}

/// A program that has an endpoint for as long as it runs.
struct EndpointRun {
  /// The methods that a fetch and its tasks need, and those that narrow or explain. A maker whose rule of `peers`
  /// lists methods may lack some.
  private static let methods = [
    FetchResource.name, GetInfo.name, Health.name, Discover.name, ExplainCall.name, ListTasks.name, GetTask.name,
    SuspendTask.name, ResumeTask.name, CancelTask.name, Narrow.name, CreateEndpoint.name, ListEndpoints.name,
    RevokeEndpoint.name,
  ]
  /// No answer takes work.
  private var patience: Duration { min(options.socket.bound, .seconds(5)) }

  private let options: EndpointOptions

  init(_ options: EndpointOptions) { self.options = options }

  /// Runs the program, and ends as it ends.
  func run(_ command: [String]) throws {
    let ending: ChildProcess.Ending
    do {
      // Its end is the endpoint's, also where this process is killed.
      var client = try SocketClient(path: options.socket.path, timeout: patience)
      let endpoint = try create(label: command[0], &client)
      setenv("POSTERN_SOCKET", endpoint.path, 1)
      if let path = endpoint.httpPath {
        setenv("POSTERN_HTTP_SOCKET", path, 1)
      } else {
        unsetenv("POSTERN_HTTP_SOCKET")
      }
      let outcome = Result { try Self.start(command) }
      // In force before the end of this process is seen, also where the program could not be run. The connection's end
      // does it where this fails.
      _ = try? exchange(RevokeEndpoint.name, ["endpoint": .string(endpoint.id)], &client)
      ending = try outcome.get()
    } catch let failure as SocketClient.Failure {
      FailureNote.print(failure.description)
      throw ExitCode(1)
    }
    throw ExitCode(ending.status())
  }

  private func create(
    label: String, _ client: inout SocketClient
  ) throws -> (id: String, path: String, httpPath: String?) {
    var params: JSONObject = ["bindTo": "connection", "http": true, "resources": Self.list(options.resource)]
    for (name, values) in [("httpMethods", options.httpMethod), ("paths", options.path)] where !values.isEmpty {
      params[name] = Self.list(values)
    }
    let session = options.session ?? (NamedSession.isPerson ? SessionParam.only : nil)
    params["session"] = session.map { .string($0) }
    params["methods"] = Self.list(options.rpcMethod.isEmpty ? Self.methods : options.rpcMethod)
    if let life = options.life { params["expiresInMs"] = .integer(life.milliseconds) }
    params["label"] = .string(options.label ?? String(label.suffix(64)))
    var answer = try exchange(CreateEndpoint.name, params, &client)
    while let error = answer["error"] {
      if params["http"] != nil, error["code"] == -32602, error["data"]?["path"] == "/http" {
        // The gateway is off.
        params["http"] = nil
      } else if error["code"] == -32020, params["methods"] == Self.list(Self.methods) {
        params["methods"] = Self.list([FetchResource.name])
      } else if options.session == nil, params["session"] != nil, Self.isAboutSession(error) {
        // The resource may need none.
        if error["code"] == -32602 { FailureNote.print(error["message"]?.stringValue ?? "several sessions") }
        params["session"] = nil
      } else {
        break
      }
      answer = try exchange(CreateEndpoint.name, params, &client)
    }
    guard let result = answer["result"] else {
      CallMethod.showError(answer["error"] ?? answer)
      throw ExitCode(1)
    }
    guard let id = result["endpoint"]?.stringValue, let path = result["path"]?.stringValue else {
      throw SocketClient.Failure(
        description: "the sidecar can make no socket for the program: listen.path is not its own")
    }
    return (id, path, result["http"]?["path"]?.stringValue)
  }

  private static func isAboutSession(_ error: JSONValue) -> Bool {
    error["data"]?["detail"] == "session_missing" || error["data"]?["path"] == "/session"
  }

  private static func list(_ values: [String]) -> JSONValue { .array(values.map { .string($0) }) }

  private static func start(_ command: [String]) throws -> ChildProcess.Ending {
    do throws(ChildProcess.Failure) {
      return try ChildProcess.run(command)
    } catch {
      throw RunProgram.failure(of: command[0], error.errno)
    }
  }

  private func exchange(_ method: String, _ params: JSONObject, _ client: inout SocketClient) throws -> JSONValue {
    try CallMethod.exchange(
      ["jsonrpc": "2.0", "id": 1, "method": .string(method), "params": .object(params)], with: &client, within: patience
    )
  }
}
