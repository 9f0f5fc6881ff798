import PosternConfiguration
import PosternJSON
import PosternObservability
import PosternProtocol
import PosternSupport
import Sidecar

/// The words that a shell can offer: names of methods and params, and of what is configured or running.
///
/// Nothing is printed and nothing fails here: without a configuration or a sidecar there are fewer words.
enum CompletionNames {
  /// The methods of this build.
  static let methods = Product.methodNames

  /// Whether a shell takes the word for nothing but a word: bash expands what it is offered, `$(command)` included, and
  /// names come from the author of the configuration, or the process that listens at the socket.
  static func isPlain(_ word: String) -> Bool {
    word.utf8.allSatisfy { byte in
      switch byte {
      case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
        UInt8(ascii: "0")...UInt8(ascii: "9"):
        true
      default: "._:=@/+-".utf8.contains(byte)
      }
    }
  }

  /// The issuers of the configuration; where it cannot be read, those that the sidecar reports in `health`.
  static func issuers() -> [String] {
    if let configuration { return configuration.issuers.keys.filter(isPlain).sorted() }
    let checks = answer(to: "health")?["checks"]?.objectValue?.names ?? []
    let prefix = "issuer."
    let names = checks.filter { $0.startsWithBytes(of: prefix) }.compactMap { $0.split(atByte: ".").dropFirst().first }
    return Set(names.map { String($0) }).filter(isPlain).sorted()
  }

  /// The resources of the configuration.
  static func resources() -> [String] { (configuration?.resources.keys.filter(isPlain) ?? []).sorted() }

  /// The params of the method among `words`, the one at `index` being typed: a whole word for each value that is known,
  /// else the name.
  ///
  /// bash takes the words apart at `=`; it gets the values alone after that.
  static func params(_ words: [String], at index: Int) -> [String] {
    anyParams(words, at: index).filter(isPlain)
  }

  private static func anyParams(_ words: [String], at index: Int) -> [String] {
    guard let method = words.lazy.compactMap({ ProtocolMethods.description(of: $0) }).first else { return [] }
    let before = words.prefix(max(0, index))
    let current = words.indices.contains(index) ? words[index] : ""
    for (separator, name) in [(current as String?, before.last), (before.last, before.dropLast().last)] {
      if let name, separator == "=" || separator == ":=" { return values(of: name, in: method) ?? [] }
    }
    if let end = current.utf8.firstIndex(of: UInt8(ascii: "=")) {
      let name = current[..<end].utf8.filter { $0 != UInt8(ascii: ":") }
      return (values(of: String(decoding: name, as: UTF8.self), in: method) ?? []).map { "\(current[...end])\($0)" }
    }
    return method.params.flatMap { param in
      let name = param.schema["type"] == "string" ? "\(param.name)=" : "\(param.name):="
      // What a sidecar has to be called for is not worth the wait before its param is typed.
      guard param.name != session, let values = values(of: param.name, in: method) else { return [name] }
      return values.map { "\(name)\($0)" }
    }
  }

  private static let session = "session"

  /// The known values of a param of `method`; nil where any may be right.
  private static func values(of param: String, in method: MethodDescription) -> [String]? {
    guard let description = method.params.first(where: { $0.name == param }) else { return nil }
    switch param {
    case "issuer": return issuers()
    case "resource": return configuration.map { $0.resources.keys.sorted() }
    case "provider": return configuration.map { $0.preauthorization.keys.sorted() }
    case session: return sessions()
    default: break
    }
    if description.schema["type"] == "boolean" { return ["true", "false"] }
    return description.schema["enum"]?.arrayValue?.compactMap(\.stringValue)
  }

  private static func sessions() -> [String] {
    (answer(to: "listSessions")?["sessions"]?.arrayValue ?? []).compactMap { $0["session"]?.stringValue }
  }

  /// The result of a method of the running sidecar; a shell waits for it no longer than a second.
  private static func answer(to method: String) -> JSONValue? {
    var options = SocketOptions()
    options.socket = nil
    options.timeout = 1
    return try? CallMethod.exchange(["jsonrpc": "2.0", "id": 1, "method": .string(method)], options)["result"]
  }

  /// The configuration, as far as names go: a secret that this user cannot read does not matter.
  private static var configuration: PosternConfiguration? {
    guard let path = try? DefaultConfiguration.path() else { return nil }
    return try? ConfigurationNames.read(path)
  }
}

/// The configuration, as far as names, URLs and paths go.
enum ConfigurationNames {
  /// Reads the file at `path`; a secret, or another file that it names, may be unreadable for this user.
  static func read(_ path: String) throws(ConfigurationProblems) -> PosternConfiguration {
    let loader = ConfigurationLoader(readFile: { file, limit in
      let unknown = ConfigurationFile(bytes: Array("unknown to this user".utf8))
      guard file != path else { return SystemFiles.read(file, limit: limit) }
      return .success(
        ConfigurationFile.contents(of: file, limit: limit).map { ConfigurationFile(bytes: $0) } ?? unknown)
    })
    return try loader.load(path: path, environment: ProcessEnvironment.current).configuration
  }
}
