import Glibc
import NIOCore
import NIOPosix

/// A pair of sockets by which an event loop wakes itself after it has read all others.
final class WakeupSocket: Sendable {
  private let descriptor: CInt

  private init(descriptor: CInt) { self.descriptor = descriptor }

  deinit { close(descriptor) }

  /// Gives `scheduler` its nudge; the loop's end of it is closed with the loop.
  static func attach(to scheduler: LoopScheduler) async throws {
    var ends: [CInt] = [-1, -1]
    let kind = CInt(SOCK_STREAM.rawValue | SOCK_NONBLOCK.rawValue | SOCK_CLOEXEC.rawValue)
    guard socketpair(AF_UNIX, kind, 0, &ends) == 0 else {
      throw SocketServerError.system(call: "socketpair", errno: errno)
    }
    let nudge = WakeupSocket(descriptor: ends[1])
    let loopEnd: Descriptor = try Descriptor("socketpair", ends[0])
    _ = try await ClientBootstrap(group: scheduler.eventLoop)
      .channelInitializer { [weak scheduler] channel in
        channel.eventLoop.makeCompletedFuture {
          try channel.pipeline.syncOperations.addHandler(Receiver(scheduler))
        }
      }
      .withConnectedSocket(loopEnd.release())
      .get()
    scheduler.attach(nudge)
  }

  /// False when nothing was sent. At most one is under way.
  func send() -> Bool {
    var byte: UInt8 = 1
    return Glibc.send(descriptor, &byte, 1, CInt(MSG_NOSIGNAL) | CInt(MSG_DONTWAIT)) == 1
  }

  private final class Receiver: ChannelInboundHandler {
    typealias InboundIn = ByteBuffer
    private weak var scheduler: LoopScheduler?

    init(_ scheduler: LoopScheduler?) { self.scheduler = scheduler }

    // Not forwarded: the pipeline's tail would take it for a mistake.
    func channelRead(context: ChannelHandlerContext, data: NIOAny) { scheduler?.pump() }
  }
}
