public import PosternSupport

/// The servers that may be reached without TLS.
public struct PlainHTTPRule: Sendable, Hashable {
  /// Whether loopback addresses may (`HTTPURL.Origin.isLoopbackAddress`).
  public var allowsLoopback: Bool
  /// The origins that may, each by scheme, host and port: no other port, no name below.
  public var origins: Set<HTTPURL.Origin>

  /// A rule of the given parts; without any no server may.
  public init(allowsLoopback: Bool = false, origins: Set<HTTPURL.Origin> = []) {
    self.allowsLoopback = allowsLoopback
    self.origins = origins
  }

  /// Whether some server may be reached without TLS.
  public var allowsAny: Bool { allowsLoopback || !origins.isEmpty }

  /// Whether requests to `url` are permitted: it is `https`, or its server may be reached without.
  public func permits(_ url: HTTPURL) -> Bool {
    url.origin.scheme == "https" || (allowsLoopback && url.origin.isLoopbackAddress) || origins.contains(url.origin)
  }
}

extension PlainHTTPRule: ConciseStringConvertible {
  /// The servers that may be reached.
  public var description: String {
    guard allowsAny else { return "https only" }
    let loopback = allowsLoopback ? "loopback addresses" : nil
    let named = origins.isEmpty ? nil : Concise.list(origins.map(\.description).sorted(), of: "origin")
    return "plain http to \([loopback, named].compactMap { $0 }.joined(separator: " and "))"
  }
}
