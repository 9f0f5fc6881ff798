import NIOCore
import NIOPosix
import PosternSupport

/// A port on which connections of one kind are served. Bound first and opened later, because who serves may have to
/// know the port.
struct Listener<Inbound: Sendable, Outbound: Sendable>: Sendable {
  typealias Connections = OpenConnections<Inbound, Outbound>

  private let channel: any Channel
  private let connections: Locked<Connections?>

  /// Binds `address`; connections wait until `open`.
  init(
    on address: LoopbackAddress, group: MultiThreadedEventLoopGroup,
    configure: @escaping @Sendable (any Channel) throws -> Connections.Channel
  ) async throws {
    let connections = Locked<Connections?>(nil)
    channel = try await ServerBootstrap(group: group)
      .serverChannelOption(.backlog, value: 1024)
      .serverChannelOption(.socketOption(.so_reuseaddr), value: 1)
      .serverChannelOption(.autoRead, value: false)
      .childChannelOption(.tcpOption(.tcp_nodelay), value: 1)
      .childChannelInitializer { channel in
        channel.eventLoop.makeCompletedFuture {
          let accepted = try configure(channel)
          connections.withLock { $0 }?.open(accepted)
        }
      }
      .bind(to: address.socketAddress)
      .get()
    self.connections = connections
  }

  /// The port that was bound.
  var port: Int { channel.localAddress?.port ?? 0 }

  /// Accepts connections from now on, each handed to `serve`.
  func open(serve: @escaping @Sendable (Connections.Channel) async -> Void) async throws {
    connections.withLock { $0 = Connections(serve: serve) }
    try await channel.setOption(.autoRead, value: true).get()
  }

  /// Accepts no more.
  func close() async { await channel.close().ended() }

  /// Ends all connections.
  func closeConnections() async { await connections.withLock { $0 }?.closeAll() }
}
