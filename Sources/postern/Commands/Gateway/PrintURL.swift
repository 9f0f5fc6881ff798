import ArgumentParser
import HTTPMessages
import PosternConfiguration
import PosternSupport

/// `postern url NAME`: where a program finds a resource over HTTP.
struct PrintURL: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "url",
    abstract: "Prints the base URL of a resource at the gateway.",
    discussion: """
      Ends in /: what follows is the path below the resource's baseUrl. The address of gateway.listen takes precedence \
      over its Unix socket, where the host's name has no meaning.
      Exit code: 0 the URL, 1 the gateway is off, there is no such resource, or the configuration is wrong.

      Examples:
        postern url billing
        postern url billing --config /etc/postern/postern.yaml
        postern url billing --socket
      """)

  @OptionGroup var configuration: ConfigurationOption

  @Argument(
    help: "The resource's name in the configuration.", completion: .custom { _, _, _ in CompletionNames.resources() })
  var name: String

  @Flag(help: "The URL over the gateway's Unix socket, also where it has an address.")
  var socket = false

  func run() throws {
    let gateway = try GatewayLocation(configuration)
    do throws(GatewayLocation.Failure) {
      print(try socket ? gateway.socketURL(of: name) : gateway.url(of: name))
    } catch {
      FailureNote.print(error.description)
      throw ExitCode(1)
    }
  }
}

/// The gateway as the configuration file describes it: nothing is contacted.
struct GatewayLocation {
  /// Why a program cannot use the gateway, or the resource.
  struct Failure: Error {
    let description: String
  }

  private let configuration: PosternConfiguration

  /// Reads the configuration. What is wrong with it is printed, and the command exits. A secret that this user cannot
  /// read does not matter.
  init(_ option: ConfigurationOption) throws { try self.init(path: option.path()) }

  /// As `init(_:)`, with the file's path.
  init(path: String) throws {
    do throws(ConfigurationProblems) {
      configuration = try ConfigurationNames.read(path)
    } catch {
      for problem in error.problems { FailureNote.print(problem.description) }
      throw ExitCode(1)
    }
  }

  /// The base URL of `name`, with an address if the gateway has one.
  func url(of name: String) throws(Failure) -> String {
    try listen.address == nil ? socketURL(of: name) : addressURL(of: name).description
  }

  /// The base URL of `name` over the gateway's Unix socket.
  func socketURL(of name: String) throws(Failure) -> String {
    guard try listen.path != nil else {
      throw Failure(description: "the gateway has no Unix socket: gateway.listen.path is not set")
    }
    return try url("http://postern", name).description
  }

  /// The base URL of `name` for a program that cannot connect to a Unix socket.
  func addressURL(of name: String) throws(Failure) -> HTTPURL { try url("http://\(address)", name) }

  /// The content of the key file, which programs send over the address.
  func key() throws(Failure) -> Secret<String> {
    _ = try address
    guard let key = try listen.key else {
      throw Failure(description: "the gateway's address has no key: gateway.listen.keyFile is not set")
    }
    // Another file's content was replaced by words where this user cannot read it.
    guard case .file(let path) = key.source else { return key.value }
    do throws(SecretFile.Problem) {
      return try SecretFile(path: path).read()
    } catch {
      throw Failure(description: "\(path): \(error.message)")
    }
  }

  /// The resource of this name, checked.
  func resource(_ name: String) throws(Failure) -> ResourceConfiguration {
    guard let resource = configuration.resources[name] else {
      let message = Suggestion.appended(
        to: "there is no resource \(name)", for: name, among: configuration.resources.keys)
      throw Failure(description: message)
    }
    return resource
  }

  private var listen: GatewayListenConfiguration {
    get throws(Failure) {
      guard let listen = configuration.gateway.listen else {
        throw Failure(description: "the gateway is off: the configuration has no gateway.listen")
      }
      return listen
    }
  }

  private var address: String {
    get throws(Failure) {
      guard let address = try listen.address else {
        throw Failure(
          description:
            "the gateway has a Unix socket only, and programs that take a base URL need gateway.listen.address")
      }
      return address
    }
  }

  /// The URL of `path`, which is relative, below `base`.
  static func url(_ base: HTTPURL, path: String) throws(Failure) -> HTTPURL {
    guard !path.isEmpty else { return base }
    guard !path.utf8.contains(where: { "?#".utf8.contains($0) }), path.utf8.first != UInt8(ascii: "/"),
      !PathInspection.hasDotSegment(asWritten: path), let url = try? base.appending(relativePath: path),
      url.lies(under: base), PathInspection.fault(in: url.path) == nil
    else {
      throw Failure(
        description: "not a path below a resource (no leading slash, no dot segments, no query): \(path)")
    }
    return url
  }

  private func url(_ origin: String, _ name: String) throws(Failure) -> HTTPURL {
    _ = try resource(name)
    // The gateway compares the first segment with the names as it is.
    guard let url = try? HTTPURL("\(origin)/\(name)/"), url.path.hasSameBytes(as: "/\(name)/"),
      !name.containsBytes(of: "/"), name != Self.reserved
    else {
      throw Failure(description: "the name of resource \(name) cannot be a segment of a URL: give it another one")
    }
    return url
  }

  /// The first segment of the gateway's own paths.
  private static let reserved = ".postern"
}
