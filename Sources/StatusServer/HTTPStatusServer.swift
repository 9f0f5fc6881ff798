import Glibc
import NIOCore
import NIOHTTP1
import NIOPosix
import PosternSupport
import SocketServer

/// Answers a handful of paths over plain HTTP, on a loopback address as a rule, for probes and for what scrapes
/// metrics.
///
/// `GET` and `HEAD` only, no bodies, few connections, a thread of its own: nothing here can hold the socket's callers
/// up. When there are too many connections the one that has waited for longest without asking is closed: whoever keeps
/// them open shuts nobody out.
public final class HTTPStatusServer: Sendable {
  /// What to answer to a path; nil: there is nothing.
  public typealias Pages = @Sendable (_ path: String) async -> StatusPage?

  /// Why it cannot listen.
  public struct Failure: Error, Sendable, CustomStringConvertible {
    /// For people.
    public let description: String
    /// Whether somebody else listens there.
    public let isInUse: Bool

    init(description: String, isInUse: Bool = false) {
      self.description = description
      self.isInUse = isInUse
    }
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

  /// Listens on `address`, `host:port` with a literal address, of loopback unless `beyondLoopback`, or `localhost`
  /// (127.0.0.1); port 0 takes a free one.
  public static func start(
    on address: String, beyondLoopback: Bool = false, pages: @escaping Pages
  ) async throws(Failure) -> HTTPStatusServer {
    guard let place = ListenPlace(address, beyondLoopback: beyondLoopback) else {
      throw Failure(description: "\(address) is no loopback address")
    }
    let group = MultiThreadedEventLoopGroup(numberOfThreads: 1)
    let guests = Guests(limit: Limits.connections)
    do {
      let channel = try await ServerBootstrap(group: group)
        .serverChannelOption(.socketOption(.so_reuseaddr), value: 1)
        // Whoever comes to a full queue comes again after a second.
        .serverChannelOption(.backlog, value: Limits.backlog)
        .serverChannelInitializer { channel in
          channel.eventLoop.makeCompletedFuture {
            try channel.pipeline.syncOperations.addHandler(AcceptPauseHandler())
          }
        }
        // Who has said all, as `printf … | socat` has, is answered all the same.
        .childChannelOption(.allowRemoteHalfClosure, value: true)
        .childChannelInitializer { channel in
          channel.eventLoop.makeCompletedFuture {
            guests.add(channel)
            channel.closeFuture.whenComplete { _ in guests.remove(channel) }
            let pipeline = channel.pipeline.syncOperations
            // NIO's own answer to what is no HTTP would come on top of one that is on its way already.
            try pipeline.configureHTTPServerPipeline(
              withErrorHandling: false, withEncoderConfiguration: .init(), withDecoderLimitConfiguration: Limits.decoder
            )
            try pipeline.addHandler(StatusRequestHandler(pages: pages, guests: guests))
          }
        }
        .bind(to: try SocketAddress(ipAddress: place.host, port: place.port))
        .get()
      return HTTPStatusServer(group: group, channel: channel)
    } catch {
      try? await group.shutdownGracefully()
      throw Failure(
        description: "cannot listen on \(address): \(error)", isInUse: (error as? IOError)?.errnoCode == EADDRINUSE)
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
