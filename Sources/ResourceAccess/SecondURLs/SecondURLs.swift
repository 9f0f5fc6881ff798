package import HTTPMessages
import OAuthClient
import PosternSupport

/// A resource that a request names in a field, beside its own URL.
package struct SecondURL: Sendable {
  /// The field's name as it was given.
  package let field: String
  /// The resource, below the base URL or an additional origin.
  package let url: HTTPURL
  /// Whether all resources are meant whose URLs begin so.
  package let isPrefix: Bool
}

/// Gives the resources that a request's fields name (`SecondURLField`) the checks of its own URL: below the base URL or
/// an additional origin, and with one reading. They are sent as they were judged.
package struct SecondURLs: Sendable {
  /// What a value names.
  enum Target {
    /// A resource, and the value that names nothing else.
    case url(HTTPURL, value: String, isPrefix: Bool = false)
    /// A resource of another server or bucket.
    case outside
    /// Nothing: the fault continues "the header's URL".
    case invalid(String)
    /// What cannot be compared with a URL.
    case unclear
  }

  /// What has been read of a request's fields.
  private struct Reading {
    var urls: [SecondURL] = []
    /// How many bytes may still be read. Each reference is resolved against the request's path and query, so a field with
    /// many references would otherwise cost its length times theirs.
    var budget = HeaderRules.maxBytes
  }

  private let server: ResourceServer
  private let gateway: HTTPURL?
  /// Whether an endpoint bounds the caller.
  let isNarrowed: Bool

  /// The checks for requests to `server` with those options.
  package init(_ server: ResourceServer, _ options: FetchOptions = FetchOptions()) {
    self.server = server
    gateway = options.gatewayURL
    isNarrowed = options.narrowing != nil
  }

  /// The fields of a request to `url` as they are sent, and the resources that they name. Throws for a resource outside
  /// of what the server's rules allow, and for one that cannot be compared with them, unless nothing has to be: the
  /// base URL is the whole origin, and no endpoint bounds the caller.
  package func reading(
    _ fields: HTTPFields, of url: HTTPURL
  ) throws(ResourceError) -> (fields: HTTPFields, urls: [SecondURL]) {
    guard fields.lines.contains(where: { SecondURLField.isOne($0.name) }) else { return (fields, []) }
    var lines = fields.lines
    var reading = Reading()
    var seen: Set<String> = []
    for (index, line) in lines.enumerated() {
      let value = HTTPFieldRules.trimmed(line.value)
      guard let form = SecondURLField.form(of: line.name), !value.isEmpty else { continue }
      let name = HTTPFieldRules.canonical(line.name)
      guard seen.insert(name).inserted else {
        throw Self.fault(
          "the header is given twice: servers differ in which one they take", at: line.name, .invalidHeaders)
      }
      guard !server.allowedHeaders.contains(where: { HTTPFieldRules.canonical($0) == name }) else { continue }
      let sent = try self.value(value, form, of: url, at: line.name, &reading)
      lines[index] = HTTPFields.Field(name: line.name, value: sent)
    }
    return (HTTPFields(lines), reading.urls)
  }

  /// Whether the fields that name resources are the same lines.
  package static func areSame(_ left: HTTPFields, _ right: HTTPFields) -> Bool {
    func named(_ fields: HTTPFields) -> [HTTPFields.Field] { fields.lines.filter { SecondURLField.isOne($0.name) } }
    return named(left).elementsEqual(named(right)) {
      $0.name.hasSameASCIILetters(as: $1.name) && $0.value.hasSameBytes(as: $1.value)
    }
  }

  // MARK: - One field

  private func value(
    _ value: String, _ form: SecondURLField.Form, of url: HTTPURL, at field: String, _ reading: inout Reading
  ) throws(ResourceError) -> String {
    guard form == .conditions else {
      return try accept(try target(value, form, of: url, at: field, &reading), instead: value, at: field, &reading)
    }
    guard let parts = IfConditions.parts(of: value) else {
      return try accept(.unclear, instead: value, at: field, &reading)
    }
    var result = ""
    for part in parts {
      switch part {
      case .list(let text): result += text
      case .tag(let tag):
        let target = try target(tag, .reference, of: url, at: field, &reading)
        result += "<\(try accept(target, instead: tag, at: field, &reading))>"
      }
    }
    return result
  }

  /// The value to send for a target that may be named.
  private func accept(
    _ target: Target, instead value: String, at field: String, _ reading: inout Reading
  ) throws(ResourceError) -> String {
    switch target {
    case .unclear:
      guard !isNarrowed, server.baseURL.path == "/" else {
        throw Self.fault(
          "the header names another resource in a form that cannot be compared with what the call may use", at: field,
          .invalidHeaders)
      }
      return value
    case .outside: throw Self.outside(field)
    case .invalid(let fault): throw Self.fault("the header's URL \(fault)", at: field)
    case .url(let url, let canonical, let isPrefix):
      try check(url, at: field)
      reading.urls.append(SecondURL(field: field, url: url, isPrefix: isPrefix))
      return canonical
    }
  }

  /// The checks of a request's own URL.
  private func check(_ url: HTTPURL, at field: String) throws(ResourceError) {
    if let fault = PathInspection.fault(in: url.path) {
      throw Self.fault("the path of the header's URL \(fault)", at: field)
    }
    guard server.covers(url) else { throw Self.outside(field) }
    guard server.credential?.isNamed(inQueryOf: url) != true else {
      throw Self.fault(
        "the query of the header's URL has the parameter that is reserved for the resource's credential", at: field)
    }
  }

  private func target(
    _ value: String, _ form: SecondURLField.Form, of url: HTTPURL, at field: String, _ reading: inout Reading
  ) throws(ResourceError) -> Target {
    reading.budget -= value.utf8.count + url.path.utf8.count + (url.query?.utf8.count ?? 0)
    guard reading.budget >= 0 else {
      throw Self.fault(
        "the header names too many resources: a request may name \(HeaderRules.maxBytes) bytes of them in its headers, "
          + "and its own path and query count once for each",
        at: field, .invalidHeaders)
    }
    do throws(HTTPURLError) {
      let names = ObjectNames(base: server.baseURL)
      switch form {
      case .reference, .conditions: return try reference(value, of: url, names)
      case .object where HTTPURL.hasScheme(value) && !ObjectNames.isARN(value):
        return try reference(value, of: url, names)
      case .object: return try names.object(value)
      case .hostedObject: return try names.hostedObject(value)
      case .accountObject: return try names.accountObject(value)
      case .accountObjects: return try names.accountObject(value, isPrefix: true)
      case .vaultNamespace: return try inNamespace(value, url)
      case .unclear: return .unclear
      }
    } catch {
      throw Self.fault("the header's URL \(error.phrase)", at: field)
    }
  }

  /// The resource that Vault serves for `url` in a namespace.
  private func inNamespace(_ value: String, _ url: HTTPURL) throws(HTTPURLError) -> Target {
    let names = value.split(atByte: "/").map(String.init)
    let isPlain = names.allSatisfy {
      PercentEncoding.byteCount(of: $0, for: .pathSegment) == $0.utf8.count && ![".", ".."].contains($0)
    }
    guard isPlain, !names.isEmpty, url.path.startsWithBytes(of: "/v1/") else { return .unclear }
    let rest = Substring(url.path.utf8.dropFirst("/v1/".utf8.count))
    return .url(try url.resolving(reference: "/v1/\(names.joined(separator: "/"))/\(rest)"), value: value)
  }

  // MARK: - References

  /// A URI reference. One to the gateway's own URL means the same at the server.
  private func reference(_ value: String, of url: HTTPURL, _ names: ObjectNames) throws(HTTPURLError) -> Target {
    // Some would read a host behind them.
    guard !value.startsWithBytes(of: "//") else { throw HTTPURLError(.missingAuthority) }
    guard !HTTPURL.hasScheme(value) else {
      let given = try HTTPURL(value)
      let target = isGateway(given.origin) ? try ownURL(given) ?? given : given
      return .url(target, value: "\(target)")
    }
    let given = try url.resolving(reference: value)
    guard value.startsWithBytes(of: "/") else { return try names.account?.object(value) ?? relative(given, to: url) }
    if let own = try ownURL(given) { return .url(own, value: own.pathAndQuery) }
    return try names.account?.object(value) ?? .url(given, value: given.pathAndQuery)
  }

  /// `target` as a relative reference in its shortest form. Servers read those in different ways: where an endpoint
  /// bounds the caller it is sent with its whole path.
  private func relative(_ target: HTTPURL, to url: HTTPURL) -> Target {
    let folder = url.path.utf8.lastIndex(of: UInt8(ascii: "/")).map { url.path[...$0] } ?? "/"
    let rest = target.pathAndQuery.utf8.dropFirst(folder.utf8.count)
    let isShort =
      !isNarrowed && target.path.startsWithBytes(of: folder) && target.path.utf8.count > folder.utf8.count
      // What has a colon in its first segment would be a scheme.
      && !rest.prefix { $0 != UInt8(ascii: "/") && $0 != UInt8(ascii: "?") }.contains(UInt8(ascii: ":"))
    return .url(target, value: isShort ? String(Substring(rest)) : target.pathAndQuery)
  }

  /// Whether `origin` is the gateway's as the program knows it, perhaps behind a server that ends TLS.
  private func isGateway(_ origin: HTTPURL.Origin) -> Bool {
    guard let own = gateway?.origin, own.host == origin.host else { return false }
    return own.port == origin.port || own.port == 80 && origin.scheme == "https" && origin.port == 443
  }

  /// The server's URL for the path of one of the gateway's for this resource; nil for another path.
  private func ownURL(_ url: HTTPURL) throws(HTTPURLError) -> HTTPURL? {
    guard let prefix = gateway?.path, url.path.startsWithBytes(of: prefix) else { return nil }
    let rest = url.path.utf8.dropFirst(prefix.utf8.count)
    guard rest.isEmpty || rest.first == UInt8(ascii: "/") else { return nil }
    guard !rest.starts(with: "//".utf8) else { throw HTTPURLError(.missingAuthority) }
    let path = String(Substring(rest))
    return try server.baseURL.appending(relativePath: url.query.map { "\(path)?\($0)" } ?? path)
  }

  // MARK: - Errors

  private static func outside(_ field: String) -> ResourceError {
    fault("the header names a URL outside of the resource's base URL and its additional origins", at: field)
  }

  private static func fault(
    _ detail: String, at field: String, _ code: ErrorCode = .invalidURL
  ) -> ResourceError {
    ResourceError(code, detail, path: ["headers", .name(field)])
  }
}

extension HTTPURL {
  /// Path and query, as in a request's line.
  var pathAndQuery: String { query.map { "\(path)?\($0)" } ?? path }
}
