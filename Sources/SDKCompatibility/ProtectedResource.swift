public import PosternSupport
public import ResourceAccess

/// A resource server with what is needed to fetch from it: a fetcher, and the options of its requests.
public struct ProtectedResource: Sendable {
  /// Where requests go.
  public let server: ResourceServer
  /// Carries them out.
  public let fetcher: ResourceFetcher
  /// The options of every request, without `task` and `deliver`, which are one request's.
  public let options: FetchOptions

  /// Requests to `server` by `fetcher`. `options` decide whose token they carry: a user's has a `session`. Their `task`
  /// and `deliver` are ignored.
  public init(_ server: ResourceServer, fetcher: ResourceFetcher, options: FetchOptions = FetchOptions()) {
    self.server = server
    self.fetcher = fetcher
    var options = options
    options.task = nil
    options.deliver = nil
    self.options = options
  }
}

extension ProtectedResource: ConciseStringConvertible {
  /// The resource.
  public var description: String { "protected \(server)" }
}
