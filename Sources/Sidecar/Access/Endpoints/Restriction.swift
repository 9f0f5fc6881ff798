import HTTPMessages
import PosternJSON
package import PosternJSONRPC
package import PosternProtocol
import PosternSupport

/// The part that an endpoint, or `narrow`, leaves of its maker's rights. A list that is nil is the maker's; an empty
/// one is nothing.
package struct Restriction: Sendable, Hashable {
  /// The methods of the wire contract, as in a rule of `peers`.
  package var methods: Set<String>?
  /// The names of resources.
  package var resources: Set<String>?
  /// The HTTP methods of fetches, in capitals.
  package var httpMethods: Set<String>?
  /// The paths of fetches, relative to the resource's base URL.
  package var paths: Set<PathPrefix>?
  /// The handles of sessions.
  package var sessions: Set<String>?

  package init(
    methods: Set<String>? = nil, resources: Set<String>? = nil, httpMethods: Set<String>? = nil,
    paths: Set<PathPrefix>? = nil, sessions: Set<String>? = nil
  ) {
    self.methods = methods
    self.resources = resources
    self.httpMethods = httpMethods
    self.paths = paths
    self.sessions = sessions
  }
}

extension Restriction {
  /// The most entries of a list, and bytes of an entry.
  package static let most = 256
  /// The most segments of all paths of a list.
  private static let mostSegments = 2048

  /// The lists of a call; throws for what can be no entry.
  package init(_ limits: EndpointLimits) throws(RPCFault) {
    methods = try Self.entries(limits.methods, "methods")
    resources = try Self.entries(limits.resources, "resources")
    httpMethods = try Self.entries(limits.httpMethods, "httpMethods")
    sessions = try Self.entries(limits.sessions, "sessions")
    if let name = methods?.first(where: { ProtocolMethods.chainRules[$0] == nil }) {
      throw Self.more("methods", name, limits.methods)
    }
    if let name = httpMethods?.first(where: { !Self.isToken($0) || HTTPFieldRules.excludedMethods.contains($0) }) {
      throw .invalidParams(
        "An HTTP method is a word in capitals, and not CONNECT or TRACE",
        path: Self.path("httpMethods", name, limits.httpMethods))
    }
    // Not a set of texts: of two that look alike it would have one.
    guard try Self.entries(limits.paths, "paths") != nil, let texts = limits.paths else { return }
    var prefixes: Set<PathPrefix> = []
    for text in texts {
      guard let prefix = PathPrefix(text) else {
        throw .invalidParams(
          "A path is relative, in whole segments, without dots, empty segments, encoded slashes and a query",
          path: Self.path("paths", text, limits.paths))
      }
      prefixes.insert(prefix)
    }
    // Each is compared with each of the level above.
    guard prefixes.reduce(0, { $0 + $1.segments.count }) <= Self.mostSegments else {
      throw .invalidParams("The paths have at most \(Self.mostSegments) segments in all", path: "/paths")
    }
    paths = prefixes
  }

  /// Throws where a list has more than `maker` has.
  func check(_ limits: EndpointLimits, within maker: Restriction) throws(RPCFault) {
    try Self.check(resources, limits.resources, within: maker.resources, "resources")
    try Self.check(httpMethods, limits.httpMethods, within: maker.httpMethods, "httpMethods")
    try Self.check(sessions, limits.sessions, within: maker.sessions, "sessions")
    guard let all = maker.paths else { return }
    if let path = paths?.first(where: { path in !all.contains { $0.includes(path) } }) {
      throw Self.more("paths", path.text, limits.paths)
    }
  }

  /// The restriction below, of a level with lists of its own, each within this one's.
  func narrowed(by own: Restriction) -> Restriction {
    Restriction(
      methods: own.methods ?? methods, resources: own.resources ?? resources,
      httpMethods: own.httpMethods ?? httpMethods, paths: own.paths ?? paths, sessions: own.sessions ?? sessions)
  }

  /// The lists that it has, other than methods.
  package var lists: EndpointLists {
    var lists: EndpointLists = []
    if resources != nil { lists.insert(.resources) }
    if httpMethods != nil { lists.insert(.httpMethods) }
    if paths != nil { lists.insert(.paths) }
    if sessions != nil { lists.insert(.sessions) }
    return lists
  }

  /// Whether a level with these lists of its own allows `method`.
  package func allows(method: String) -> Bool {
    guard methods?.contains(method) ?? true, let rule = ProtocolMethods.chainRules[method] else { return false }
    switch rule {
    case .open, .checked: return true
    case .beyond(let around): return methods != nil || lists.isDisjoint(with: around)
    case .makesSessions: return sessions == nil
    }
  }

  /// Whether a fetch by that HTTP method may be made. HTTP methods are compared as they are sent.
  package func allows(httpMethod: String) -> Bool { httpMethods?.contains(httpMethod) ?? true }

  /// Whether a fetch from that path, relative to the resource's base URL and as it is sent, may be made; nil: it is not
  /// below the base URL.
  package func allows(path: String?) -> Bool {
    guard let paths else { return true }
    guard let path, let path = PathPrefix(path) else { return false }
    return paths.contains { $0.includes(path) }
  }

  /// Whether that session may be used.
  package func allows(session: String) -> Bool { sessions?.contains(session) ?? true }

  /// The error for more than the maker has; the same for what there is not.
  static func more(_ list: String, _ entry: String, _ entries: [String]?) -> RPCFault {
    RPCFault(
      .peerForbidden, "An entry of \(list) is unknown, or the maker may not use it",
      path: path(list, entry, entries))
  }

  private static func path(_ list: String, _ entry: String, _ entries: [String]?) -> String {
    entries?.firstIndex(of: entry).map { "/\(list)/\($0)" } ?? "/\(list)"
  }

  private static func check(
    _ own: Set<String>?, _ entries: [String]?, within maker: Set<String>?, _ list: String
  ) throws(RPCFault) {
    guard let own, let maker, let entry = own.first(where: { !maker.contains($0) }) else { return }
    throw more(list, entry, entries)
  }

  private static func entries(_ list: [String]?, _ name: String) throws(RPCFault) -> Set<String>? {
    guard let list else { return nil }
    guard list.count <= most else { throw .invalidParams("At most \(most) entries", path: "/\(name)") }
    if let index = list.firstIndex(where: { !(1...most).contains($0.utf8.count) }) {
      throw .invalidParams("An entry has 1 to \(most) bytes", path: "/\(name)/\(index)")
    }
    return Set(list)
  }

  /// A token of RFC 9110 section 5.6.2 without lower-case letters.
  private static func isToken(_ text: String) -> Bool {
    text.utf8.allSatisfy { byte in
      ASCII.isTokenCharacter(byte) && !(0x61...0x7A).contains(byte)
    }
  }
}

/// A path relative to a resource's base URL, in whole segments: `orders` is that path alone, `orders/` what is below.
package struct PathPrefix: Sendable, Hashable {
  /// The text as it was given.
  package let text: String
  /// The segments, percent-decoded: bytes, since texts that look alike may be equal.
  package let segments: [[UInt8]]
  /// Whether it is a prefix, with a slash at its end.
  let includesBelow: Bool

  /// Nil for what has no segment, an empty one, or one that a server might read as another (`PathInspection`): with a
  /// dot segment, an encoded slash or backslash, a path parameter (`;`), a control character, or what is encoded twice;
  /// and for a text that is more than a path.
  package init?(_ text: String) {
    guard PathInspection.fault(in: text) == nil else { return nil }
    var bytes = Array(text.utf8)
    includesBelow = bytes.last == UInt8(ascii: "/")
    if includesBelow { bytes.removeLast() }
    var segments: [[UInt8]] = []
    for part in bytes.split(separator: UInt8(ascii: "/"), omittingEmptySubsequences: false) {
      guard let segment = Self.segment(part) else { return nil }
      segments.append(segment)
    }
    self.text = text
    self.segments = segments
  }

  /// Whether `other`, with all that it includes, is within it.
  package func includes(_ other: PathPrefix) -> Bool {
    guard includesBelow else { return self == other }
    guard other.segments.starts(with: segments) else { return false }
    return other.segments.count > segments.count || other.includesBelow
  }

  /// Paths are equal whatever their encoding.
  package static func == (left: PathPrefix, right: PathPrefix) -> Bool {
    left.segments == right.segments && left.includesBelow == right.includesBelow
  }

  /// Feeds what is compared.
  package func hash(into hasher: inout Hasher) {
    hasher.combine(segments)
    hasher.combine(includesBelow)
  }

  private static func segment(_ part: ArraySlice<UInt8>) -> [UInt8]? {
    guard !part.contains(where: { "?#".utf8.contains($0) }) else { return nil }
    var decoded: [UInt8] = []
    var rest = part
    while let byte = rest.popFirst() {
      guard byte == UInt8(ascii: "%") else {
        decoded.append(byte)
        continue
      }
      guard let high = rest.popFirst().flatMap(Hexadecimal.value), let low = rest.popFirst().flatMap(Hexadecimal.value)
      else {
        return nil
      }
      decoded.append(high << 4 | low)
    }
    guard !decoded.isEmpty, decoded != [0x2E], decoded != [0x2E, 0x2E],
      !decoded.contains(where: { $0 < 0x20 || $0 == 0x7F || #"/\;%"#.utf8.contains($0) })
    else { return nil }
    return decoded
  }
}
