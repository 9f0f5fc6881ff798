import HTTPMessages

/// Where a request of a program leads, by its path.
package enum GatewayRoute: Equatable {
  /// To a resource server: the name, and the path behind its base URL with the query, as `ForwardedFetch.path` has it.
  case resource(String, path: String)
  /// To the gateway itself: the path behind `/.postern/`.
  case reserved(String)
  /// Nowhere: two servers could read the path differently. With the reason, which continues "the path".
  case rejected(String)

  private static let slash = UInt8(ascii: "/")
  private static let reservedName = ".postern"

  /// The name of the resource that a path leads to, if it leads to one.
  package static func resource(ofPath path: String) -> String? {
    guard case .resource(let name, _) = GatewayRoute(path: path, query: nil) else { return nil }
    return name
  }

  /// The route of a path and query as they were sent.
  init(path: String, query: String?) {
    let bytes = path.utf8
    guard bytes.first == Self.slash else {
      self = .rejected("does not begin with a slash")
      return
    }
    guard !bytes.contains(UInt8(ascii: "\\")) else {
      self = .rejected("holds a backslash")
      return
    }
    // Before they are resolved: nothing leads from one resource to another.
    guard !PathInspection.hasDotSegment(asWritten: path) else {
      self = .rejected("holds a dot segment")
      return
    }
    let rest = bytes.dropFirst()
    let name = String(Substring(rest.prefix { $0 != Self.slash }))
    let behind = String(Substring(rest.dropFirst(name.utf8.count)))
    if name == Self.reservedName {
      self = .reserved(String(behind.dropFirst()))
    } else {
      self = .resource(name, path: query.map { "\(behind)?\($0)" } ?? behind)
    }
  }
}
