import Glibc
import NIOCore
import NIOHTTP1
import NIOPosix
import PosternSupport

/// Serves a few paths over plain HTTP, usually on a loopback address, for probes and for scrapers of metrics.
///
/// `GET` and `HEAD` only, no bodies, few connections, a thread of its own: nothing here can delay the socket's callers.
/// When there are too many connections, the one that has been without a request for longest is closed, so that clients
/// that keep connections open do not exclude others.
public final class HTTPStatusServer: Sendable {
  /// The response to a path; nil: there is none (404).
  public typealias Pages = @Sendable (_ path: String) async -> StatusPage?

  /// Why it cannot listen.
  public struct Failure: Error, Sendable, CustomStringConvertible {
    /// For people.
    public let description: String
    /// Whether another process listens on the address.
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
    guard let listenAddress = ListenAddress(address, beyondLoopback: beyondLoopback) else {
      throw Failure(description: "\(address) is no loopback address")
    }
    let group = MultiThreadedEventLoopGroup(numberOfThreads: 1)
    let connections = ConnectionLimiter(limit: Limits.connections)
    do {
      let channel = try await ServerBootstrap(group: group)
        .serverChannelOption(.socketOption(.so_reuseaddr), value: 1)
        // A client that meets a full backlog tries again after a second.
        .serverChannelOption(.backlog, value: Limits.backlog)
        .serverChannelInitializer { channel in
          channel.eventLoop.makeCompletedFuture {
            try channel.pipeline.syncOperations.addHandler(AcceptPauseHandler())
          }
        }
        // A client that has closed its side, as `printf … | socat` does, still gets its response.
        .childChannelOption(.allowRemoteHalfClosure, value: true)
        .childChannelInitializer { channel in
          channel.eventLoop.makeCompletedFuture {
            connections.add(channel)
            channel.closeFuture.whenComplete { _ in connections.remove(channel) }
            let pipeline = channel.pipeline.syncOperations
            // NIO's own response to malformed HTTP could follow one that is being sent already.
            try pipeline.configureHTTPServerPipeline(
              withErrorHandling: false, withEncoderConfiguration: .init(), withDecoderLimitConfiguration: Limits.decoder
            )
            try pipeline.addHandler(StatusRequestHandler(pages: pages, connections: connections))
          }
        }
        .bind(to: try SocketAddress(ipAddress: listenAddress.host, port: listenAddress.port))
        .get()
      return HTTPStatusServer(group: group, channel: channel)
    } catch {
      try? await group.shutdownGracefully()
      throw Failure(
        description: "cannot listen on \(address): \(error)", isInUse: (error as? IOError)?.errnoCode == EADDRINUSE)
    }
  }

  /// Stops listening and closes all connections. Further calls wait for the same.
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

extension HTTPStatusServer {
  /// The bounds of what clients may use.
  enum Limits {
    /// The most connections at one time; beyond them the one that has waited for longest is closed.
    static let connections = 64
    /// Connections that may wait to be accepted; the kernel caps it at `net.core.somaxconn`.
    static let backlog: CInt = 4096
    /// How long a whole request may take to come, and its answer to be taken.
    static let patience = TimeAmount.seconds(30)

    /// Bounds on the header block, applied while it is read: beyond them 400 and the end of the connection.
    static var decoder: NIOHTTPDecoderLimitConfiguration {
      var limits = NIOHTTPDecoderLimitConfiguration()
      limits.maxHeaderFieldSize = 8 << 10
      limits.maxHeaderListSize = 16 << 10
      limits.maxHeaderFieldCount = 64
      return limits
    }
  }
}

/// The response to one path, as of now.
public struct StatusPage: Sendable, Hashable {
  /// The HTTP status.
  public var status: Int
  /// The value of `Content-Type`.
  public var contentType: String
  /// The body.
  public var body: [UInt8]

  /// An answer of these parts.
  public init(status: Int = 200, contentType: String, body: [UInt8]) {
    self.status = status
    self.contentType = contentType
    self.body = body
  }

  /// A short text.
  static func text(_ status: Int, _ text: String) -> StatusPage {
    StatusPage(status: status, contentType: "text/plain; charset=utf-8", body: Array("\(text)\n".utf8))
  }
}
