/// Why a connection is over.
public enum CloseReason: Sendable, Hashable {
  /// The peer closed it, or both directions had ended.
  case peer
  /// `close`, `closeAfterFlush` or `sendAndClose` was called, or the server shut down.
  case requested
  /// The process that connected has ended, and another one holds on to its connection.
  case peerEnded
  /// The peer began a message and stalled.
  case stalled
  /// The peer did not read what was written for it.
  case writeTimeout
  /// More was waiting to be written than `pendingBytes` allows.
  case overflow
  /// The socket failed with this `errno`; 0 when there was none.
  case failed(errno: CInt)
}
