import ArgumentParser
import Glibc
import HTTPMessages
import PosternConfiguration
import PosternSupport

/// `postern run -- COMMAND`: a program whose requests go through the gateway, or that has an endpoint of its own.
struct RunProgram: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "run",
    abstract: "Runs a program that reaches one resource, or whose requests go through the gateway.",
    discussion: """
      With --resource the program gets sockets of its own, at which it reaches that resource only and nothing else of \
      the sidecar: POSTERN_SOCKET for the clients of Postern, and where the gateway is on POSTERN_HTTP_SOCKET for HTTP. \
      They end with the program, after the time of --for, or when this process is killed. Signals are passed on.

      With --set and --git the program's variables lead its requests to the gateway: they have the URL of a resource \
      at gateway.listen.address, and the gateway's key where the program can send one; no credential of a resource is \
      among them. For these variables the others of the same program are set, too, or removed:
        OPENAI_BASE_URL      OPENAI_API_KEY
        ANTHROPIC_BASE_URL   ANTHROPIC_AUTH_TOKEN, without ANTHROPIC_API_KEY
        PIP_INDEX_URL        the key is in the URL; without PIP_EXTRA_INDEX_URL
        UV_DEFAULT_INDEX     the key is in the URL; without UV_INDEX and UV_EXTRA_INDEX_URL
        npm_config_registry  npm's token for the registry
      Exit code: the program's; 1 the gateway is off, there is no such resource, or the sidecar makes no endpoint; \
      126 or 127 as env(1): the program cannot be run, or is not found.

      Examples:
        postern run --resource billing --for 10m -- ./report
        postern run --resource billing --http-method GET --path invoices/ -- ./report
        postern run --set OPENAI_BASE_URL=models -- python3 chat.py
        postern run --set PIP_INDEX_URL=pypi/simple/ -- pip install app
        postern run --set BILLING_URL=billing --key-in BILLING_KEY -- ./report
        postern run --git source -- git clone https://git.example.com/app.git
      """)

  @OptionGroup var configuration: ConfigurationOption

  @OptionGroup(title: "Options for a program with an endpoint of its own") var endpoint: EndpointOptions

  @Option(
    name: .customLong("set"),
    help: ArgumentHelp(
      "Sets VAR to the base URL of NAME, or to PATH below it; may be given several times.", valueName: "VAR=NAME[/PATH]"
    ))
  var variables: [VariableAssignment] = []

  @Option(help: ArgumentHelp("Sets VAR to the gateway's key, which goes as Postern-Key.", valueName: "VAR"))
  var keyIn: [String] = []

  @Option(
    help: ArgumentHelp(
      "Sets git's own settings: URLs below the resource's baseUrl go to the gateway; may be given several times.",
      valueName: "NAME"))
  var git: [String] = []

  @Argument(parsing: .postTerminator, help: "The program and its arguments, after --.")
  var command: [String] = []

  func validate() throws {
    guard !command.isEmpty else { throw ValidationError("The program to run is needed, after --.") }
    guard keyIn.allSatisfy({ !$0.isEmpty && !$0.containsBytes(of: "=") }) else {
      throw ValidationError("--key-in takes the name of a variable.")
    }
    guard endpoint.resource.isEmpty || variables.isEmpty && keyIn.isEmpty && git.isEmpty else {
      throw ValidationError(
        "--set, --key-in and --git give the program the gateway's key, which opens more than --resource: "
          + "with --resource it has $POSTERN_HTTP_SOCKET.")
    }
  }

  func run() throws {
    guard endpoint.resource.isEmpty else { return try EndpointRun(endpoint).run(command) }
    let gateway = try GatewayLocation(configuration)
    do throws(GatewayLocation.Failure) {
      var settings = ProgramSettings(gateway: gateway)
      for assignment in variables { try settings.add(assignment) }
      for name in keyIn { try settings.addKey(name) }
      for name in git { try settings.addGit(name) }
      settings.apply()
    } catch {
      FailureNote.print(error.description)
      throw ExitCode(1)
    }
    var arguments: [UnsafeMutablePointer<CChar>?] = command.map { strdup($0) } + [nil]
    execvp(command[0], &arguments)
    throw Self.failure(of: command[0], errno)
  }

  /// Reports why the program could not be run, and returns the exit code for that.
  static func failure(of program: String, _ reason: Int32) -> ExitCode {
    FailureNote.print("\(program): \(SystemError.text(reason))")
    return ExitCode(reason == ENOENT ? 127 : 126)
  }
}

/// `VAR=NAME`, `VAR=NAME/PATH`: a variable for the base URL of a resource, or for a path below it.
struct VariableAssignment: ExpressibleByArgument {
  let variable: String
  let resource: String
  /// The path below the base URL, as it was given; empty: that URL itself.
  let path: String

  init?(argument: String) {
    variable = String(argument.prefix(beforeBytes: "="))
    let target = String(decoding: argument.utf8.dropFirst(variable.utf8.count + 1), as: UTF8.self)
    resource = String(target.prefix(beforeBytes: "/"))
    path = String(decoding: target.utf8.dropFirst(resource.utf8.count + 1), as: UTF8.self)
    if variable.isEmpty || resource.isEmpty { return nil }
  }
}

/// The variables of a program whose requests go through the gateway.
private struct ProgramSettings {
  private typealias Setting = (name: String, value: String)

  private let gateway: GatewayLocation
  private var variables: [Setting] = []
  private var removed: [String] = []
  private var gitSettings: [Setting] = []

  init(gateway: GatewayLocation) { self.gateway = gateway }

  /// A variable with a base URL, in the form in which its program expects it, and the variables that belong to it.
  mutating func add(_ assignment: VariableAssignment) throws(GatewayLocation.Failure) {
    let base = try gateway.addressURL(of: assignment.resource)
    let url = try GatewayLocation.url(base, path: assignment.path)
    var value = url.description
    // A path is as it was given.
    let endsInSlash = assignment.path.isEmpty
    switch assignment.variable {
    case "OPENAI_BASE_URL":
      if endsInSlash { value.removeLast() }
      try addKey("OPENAI_API_KEY")
    case "ANTHROPIC_BASE_URL":
      if endsInSlash { value.removeLast() }
      try addKey("ANTHROPIC_AUTH_TOKEN")
      // It would go instead, and be another server's.
      removed.append("ANTHROPIC_API_KEY")
    case "PIP_INDEX_URL":
      value = try withKey(url)
      removed.append("PIP_EXTRA_INDEX_URL")
    case "UV_DEFAULT_INDEX":
      value = try withKey(url)
      removed += ["UV_INDEX", "UV_INDEX_URL", "UV_EXTRA_INDEX_URL"]
    case "npm_config_registry":
      // npm looks at the folders above a URL, too: this one is above packages elsewhere in the resource.
      try addKey("npm_config_\(base.description.utf8.dropFirst("http:".utf8.count).text):_authToken")
    default: break
    }
    variables.append((assignment.variable, value))
  }

  /// A variable with the gateway's key.
  mutating func addKey(_ variable: String) throws(GatewayLocation.Failure) {
    variables.append((variable, try gateway.key().reveal()))
  }

  /// The settings of git by which URLs of the resource go to the gateway, with its key.
  mutating func addGit(_ resource: String) throws(GatewayLocation.Failure) {
    let url = try gateway.addressURL(of: resource).description
    gitSettings.append(("url.\(url).insteadOf", try gateway.resource(resource).locations.baseURL))
    gitSettings.append(("http.\(url).extraHeader", "Postern-Key: \(try gateway.key().reveal())"))
  }

  /// Changes the variables of this process.
  func apply() {
    for name in removed { unsetenv(name) }
    for (name, value) in variables { setenv(name, value, 1) }
    if !gitSettings.isEmpty {
      let count = ProcessEnvironment.current["GIT_CONFIG_COUNT"].flatMap { Int($0) } ?? 0
      for (index, setting) in gitSettings.enumerated() {
        setenv("GIT_CONFIG_KEY_\(count + index)", setting.name, 1)
        setenv("GIT_CONFIG_VALUE_\(count + index)", setting.value, 1)
      }
      setenv("GIT_CONFIG_COUNT", "\(count + gitSettings.count)", 1)
    }
    // A proxy of the environment would get the requests, and the key, which are for this machine.
    for name in ["no_proxy", "NO_PROXY"] {
      let others = ProcessEnvironment.current[name].map { $0.isEmpty ? "" : "\($0)," } ?? ""
      setenv(name, "\(others)127.0.0.1,::1,localhost", 1)
    }
  }

  /// The URL with the key as its password, which goes as `Authorization: Basic`.
  private func withKey(_ url: HTTPURL) throws(GatewayLocation.Failure) -> String {
    let key = PercentEncoding.encode(try gateway.key().reveal(), for: .pathSegment)
    return "http://postern:\(key)@\(url.origin.description.utf8.dropFirst("http://".utf8.count).text)\(url.path)"
  }
}

extension Substring.UTF8View {
  fileprivate var text: String { String(decoding: self, as: UTF8.self) }
}
