import HTTPMessages
import PosternConfiguration
import PosternSupport

/// The client's request as the front reports it.
struct OriginalRequest: Sendable, Equatable {
  /// The names of one family of fields that report it.
  private enum Family: CaseIterable {
    /// nginx and Apache, as their configuration sets them.
    case original
    /// Caddy and Traefik by themselves, HAProxy by its configuration.
    case forwarded
    /// Envoy: the front's own request.
    case path

    init(_ dialect: ProtectedAPIConfiguration.Dialect) {
      self =
        switch dialect {
        case .nginx, .apache: .original
        case .caddy, .traefik, .haproxy: .forwarded
        case .envoy: .path
        }
    }

    /// In words, as the subject of a sentence.
    var name: String {
      switch self {
      case .original: "X-Original-URI"
      case .forwarded: "X-Forwarded-Uri"
      case .path: "the path of the subrequest"
      }
    }

    /// The same for the method.
    var methodName: String {
      switch self {
      case .original: "X-Original-Method"
      case .forwarded: "X-Forwarded-Method"
      case .path: "the method of the subrequest"
      }
    }
  }

  private static let maxBytes = 8192

  private var method: String?
  /// Path and query.
  private var uri: String?
  /// Scheme, host and port.
  private var origin: String?

  /// Reads the fields of the API's front; of any front where none is configured.
  init(of request: ForwardedRequest, at api: ProtectedAPIConfiguration) throws(ForwardingError) {
    let families = api.dialect.map { [Family($0)] } ?? Family.allCases
    var found: (family: Family, request: OriginalRequest)?
    for family in families {
      guard let next = try Self.read(family, request, api) else { continue }
      if let found, found.request != next { throw .contradiction(found.family.name, family.name) }
      found = (family, next)
    }
    self = found?.request ?? OriginalRequest()
    origin = origin ?? api.origin
    guard let dialect = api.dialect else { return }
    if uri == nil { throw .missing(Family(dialect).name) }
    if method == nil { throw .missing(Family(dialect).methodName) }
  }

  private init() {}

  /// Method and URL. Where they need not be exact, others stand for those that the front does not report: they decide
  /// nothing without a proof.
  func target(isExact: Bool) throws(ForwardingError) -> (method: String, url: String) {
    guard !isExact || (method != nil && uri != nil && origin != nil) else { throw .unknownTarget }
    return (method ?? "GET", "\(origin ?? "https://unknown.invalid")\(uri ?? "/")")
  }

  /// The request in the fields of one family; nil where there are none.
  private static func read(
    _ family: Family, _ request: ForwardedRequest, _ api: ProtectedAPIConfiguration
  ) throws(ForwardingError) -> OriginalRequest? {
    var result = OriginalRequest()
    switch family {
    case .original:
      result.method = try method(request.fields, family.methodName)
      let url = try request.fields.only("X-Original-URL")
      result.uri = try uri(try request.fields.only(family.name), family.name)
      if let url {
        if result.uri != nil { throw .contradiction(family.name, "X-Original-URL") }
        (result.origin, result.uri) = try split(url, "X-Original-URL")
      }
    case .forwarded:
      result.method = try method(request.fields, family.methodName)
      result.uri = try uri(try request.fields.only(family.name), family.name)
    case .path:
      guard let remainder = request.remainder else { return nil }
      result.method = try checked(request.method, family.methodName)
      result.uri = try uri(remainder, family.name)
    }
    guard result.method != nil || result.uri != nil else { return nil }
    try result.complete(family, request, api)
    return result
  }

  /// Adds the origin: the configured one, else the reported one.
  private mutating func complete(
    _ family: Family, _ request: ForwardedRequest, _ api: ProtectedAPIConfiguration
  ) throws(ForwardingError) {
    if let configured = api.origin {
      if let origin, try Self.normalised(origin, "X-Original-URL") != Self.normalised(configured, "origin") {
        throw .contradiction("X-Original-URL", "the configured origin")
      }
      origin = configured
    } else if origin == nil {
      guard let scheme = try request.fields.only("X-Forwarded-Proto") else { return }
      let host = family == .path ? request.authority : try request.fields.only("X-Forwarded-Host")
      guard let host else { return }
      origin = try Self.origin(scheme, host, family == .path ? "Host" : "X-Forwarded-Host")
    }
  }

  // MARK: values

  private static func method(_ fields: HTTPFields, _ name: String) throws(ForwardingError) -> String? {
    guard let method = try fields.only(name) else { return nil }
    return try checked(method, name)
  }

  private static func checked(_ method: String, _ name: String) throws(ForwardingError) -> String {
    guard HTTPFieldRules.isName(method) else { throw .invalid(name, "is no method") }
    return method
  }

  /// Path and query, where every server reads the same path in them.
  private static func uri(_ text: String?, _ name: String) throws(ForwardingError) -> String? {
    guard let text else { return nil }
    guard text.utf8.count <= maxBytes else { throw .invalid(name, "is longer than 8 KiB") }
    guard text.utf8.first == UInt8(ascii: "/") else { throw .invalid(name, "does not begin with /") }
    guard !text.utf8.contains(UInt8(ascii: "#")) else { throw .invalid(name, "has a fragment") }
    // Browsers leave characters in a query that a URL may not have.
    guard text.utf8.allSatisfy({ $0 > 0x20 && $0 < 0x7F }) else { throw .invalid(name, "is not printable ASCII") }
    let path = String(text.prefix(beforeBytes: "?"))
    do throws(HTTPURLError) {
      _ = try HTTPURL("https://unknown.invalid\(path)")
    } catch {
      throw .invalid(name, "is no path: the URL \(error.phrase)")
    }
    let segments = path.utf8.dropFirst().split(separator: UInt8(ascii: "/"), omittingEmptySubsequences: false)
    guard segments.dropLast().allSatisfy({ !$0.isEmpty }) else { throw .invalid(name, "has an empty segment") }
    let dots = [".", ".."]
    guard segments.allSatisfy({ segment in !dots.contains { segment.elementsEqual($0.utf8) } }) else {
      throw .invalid(name, "has a dot segment")
    }
    if let fault = PathInspection.fault(in: path) { throw .invalid(name, fault) }
    return text
  }

  /// Origin, and path with query, of an absolute URL.
  private static func split(_ url: String, _ name: String) throws(ForwardingError) -> (origin: String, uri: String?) {
    let bytes = Array(url.utf8)
    guard url.utf8.count <= maxBytes else { throw .invalid(name, "is longer than 8 KiB") }
    let schemes = ["https://", "http://"]
    guard let scheme = schemes.first(where: { url.startsWithBytes(of: $0) }) else {
      throw .invalid(name, "is no absolute URL")
    }
    let end = bytes.dropFirst(scheme.utf8.count).firstIndex { "/?#".utf8.contains($0) } ?? bytes.endIndex
    let origin = String(decoding: bytes[..<end], as: UTF8.self)
    _ = try normalised(origin, name)
    let rest = String(decoding: bytes[end...], as: UTF8.self)
    return (origin, try uri(rest.isEmpty ? "/" : rest, name))
  }

  private static func origin(_ scheme: String, _ host: String, _ name: String) throws(ForwardingError) -> String {
    // Traefik reports those of a WebSocket's handshake, whose URL is that of the HTTP request.
    let schemes = ["https": "https", "http": "http", "wss": "https", "ws": "http"]
    guard let scheme = schemes[scheme] else { throw .invalid("X-Forwarded-Proto", "is neither https nor http") }
    guard !host.isEmpty, !host.utf8.contains(where: { "/?#@\\".utf8.contains($0) }) else {
      throw .invalid(name, "is no host")
    }
    let origin = "\(scheme)://\(host)"
    _ = try normalised(origin, name)
    return origin
  }

  private static func normalised(_ origin: String, _ name: String) throws(ForwardingError) -> HTTPURL.Origin {
    do throws(HTTPURLError) {
      return try HTTPURL(origin).origin
    } catch {
      throw .invalid(name, "is no origin: the URL \(error.phrase)")
    }
  }
}

extension HTTPFields {
  /// The one value of `name`; nil where there is none.
  func only(_ name: String) throws(ForwardingError) -> String? {
    let values = values(of: name)
    guard values.count < 2 else { throw .duplicate(name) }
    return values.first
  }
}
