import NIOCore
import NIOPosix

extension Connection {
  /// The process that connected, held by a descriptor of its own. Asked for when needed, not at every connection: it
  /// costs a descriptor, and the kernel remembers the process that connected as long as the connection is open.
  public func peerProcess() async -> PeerProcess.Observation {
    let channel = channel
    let observed = channel.eventLoop.submit {
      try channel.pipeline.syncOperations.withUnsafeTransportIfAvailable(of: NIOBSDSocket.Handle.self) { descriptor in
        PeerProcess.observe(socket: descriptor)
      }
    }
    // A closed channel has no descriptor any more and throws.
    guard let observation = try? await observed.get() else { return .unsupported }
    return observation
  }
}
