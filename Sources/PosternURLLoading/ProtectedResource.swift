public import AuthEngine
import HTTPMessages
public import PosternSupport

/// A resource server whose requests go through the engine, with the options of these requests.
public struct ProtectedResource: Sendable {
  let server: ResourceServer
  let fetcher: ResourceFetcher
  let options: FetchOptions

  /// Requests to `server` by `fetcher`. `options` decide whose token they carry: a user's has a `session`. Their `task`
  /// and `deliver` are ignored.
  public init(_ server: ResourceServer, fetcher: ResourceFetcher, options: FetchOptions = FetchOptions()) {
    self.server = server
    self.fetcher = fetcher
    var options = options
    options.task = nil
    options.streaming.deliver = nil
    self.options = options
  }

  /// Whether `url` is one of its server's.
  func covers(_ url: HTTPURL) -> Bool { server.covers(url) }
}

extension ProtectedResource: ConciseStringConvertible {
  /// The resource.
  public var description: String { "protected \(server)" }
}
