import NIOCore
import NIOHTTP1
import NIOPosix
import Support

/// Answers a handful of paths over plain HTTP on a loopback address, for probes and for what scrapes metrics.
///
/// `GET` and `HEAD` only, no bodies, few connections, a thread of its own: nothing here can hold the socket's callers up.
public final class HTTPStatusServer: Sendable {
  /// What to answer to a path; nil: there is nothing.
  public typealias Pages = @Sendable (_ path: String) async -> StatusPage?

  /// Why it cannot listen.
  public struct Failure: Error, Sendable, CustomStringConvertible {
    /// For people.
    public let description: String
  }

  /// Where it listens.
  public let port: Int

  private let group: MultiThreadedEventLoopGroup
  private let channel: any Channel
  private let closing = Locked<Task<Void, Never>?>(nil)

  private init(group: MultiThreadedEventLoopGroup, channel: any Channel) {
    self.group = group
    self.channel = channel
    port = channel.localAddress?.port ?? 0
  }

  /// Listens on `address`, `host:port` with a literal loopback address or `localhost` (127.0.0.1); port 0 takes a free one.
  public static func start(on address: String, pages: @escaping Pages) async throws(Failure) -> HTTPStatusServer {
    guard let place = LoopbackPlace(address) else { throw Failure(description: "\(address) is no loopback address") }
    let group = MultiThreadedEventLoopGroup(numberOfThreads: 1)
    let open = Locked(0)
    do {
      let channel = try await ServerBootstrap(group: group)
        .serverChannelOption(.socketOption(.so_reuseaddr), value: 1)
        .childChannelInitializer { channel in
          channel.eventLoop.makeCompletedFuture {
            guard open.withLock({ $0 < Limits.connections }) else { throw ChannelError.operationUnsupported }
            open.withLock { $0 += 1 }
            channel.closeFuture.whenComplete { _ in open.withLock { $0 -= 1 } }
            let pipeline = channel.pipeline.syncOperations
            try pipeline.addHandler(IdleStateHandler(allTimeout: Limits.idle))
            try pipeline.configureHTTPServerPipeline(
              withEncoderConfiguration: .init(), withDecoderLimitConfiguration: Limits.decoder)
            try pipeline.addHandler(StatusRequestHandler(pages: pages))
          }
        }
        .bind(to: try SocketAddress(ipAddress: place.host, port: place.port))
        .get()
      return HTTPStatusServer(group: group, channel: channel)
    } catch {
      try? await group.shutdownGracefully()
      throw Failure(description: "cannot listen on \(address): \(error)")
    }
  }

  /// Ends it, with what is open. Whoever calls it again waits for the same end.
  public func close() async {
    let task = closing.withLock { closing in
      if let closing { return closing }
      let task = Task { [self] in
        // The errors are that it is closed already.
        try? await channel.close().get()
        try? await group.shutdownGracefully()
      }
      closing = task
      return task
    }
    await task.value
  }
}
