/// Takes what one connection delivers. Made per connection; every call comes on the connection's event loop, one at a
/// time, and must not block: other connections wait behind it.
public protocol ConnectionDelegate: AnyObject {
  /// Messages in the order of their bytes: those of one read together, in groups of at most 32.
  ///
  /// What is sent during the call goes out in one write after it.
  func received(_ events: [InboundEvent], on connection: Connection)

  /// The peer has half-closed: no more events will come, but it still reads. End with `closeAfterFlush` once everything
  /// is answered.
  func inputEnded(on connection: Connection)

  /// The most bytes that a message may have from now on; nil: as many as the server allows. Read before each read.
  func messageBytes(on connection: Connection) -> Int?

  /// `connection.isWritable` has changed.
  func writabilityChanged(on connection: Connection)

  /// The connection is over; called once, last. Nothing can be sent any more.
  func closed(_ connection: Connection, reason: CloseReason)
}

extension ConnectionDelegate {
  /// The server's limit.
  public func messageBytes(on connection: Connection) -> Int? { nil }

  /// Nothing: for delegates that wait in `Connection.writable()`, or send little.
  public func writabilityChanged(on connection: Connection) {}
}

/// Why a connection is over.
public enum CloseReason: Sendable, Hashable {
  /// The peer closed it, or both directions had ended.
  case peer
  /// `close` or `closeAfterFlush` was called, or the server shut down.
  case requested
  /// The peer speaks HTTP: another server has the connection now.
  case becameHTTP
  /// The process that connected has ended, and another one holds on to its connection.
  case peerEnded
  /// The peer began a message and stalled.
  case stalled
  /// The peer did not read what was written for it.
  case writeTimeout
  /// More was waiting to be written than `pendingBytes` allows.
  case overflow
  /// The peer passed more descriptors than its calls claimed, or than its uid may have.
  case descriptors
  /// The socket failed with this `errno`; 0 when there was none.
  case failed(errno: CInt)
}
