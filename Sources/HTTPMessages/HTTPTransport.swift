/// The port through which the engine reaches the network. One call is one exchange: redirects are returned, not
/// followed.
public protocol HTTPTransport: Sendable {
  /// Sends `request` and returns the whole response, whatever its status.
  ///
  /// Cancelling the calling task ends the exchange with `TransportError.Code.cancelled`, exactly once.
  func send(_ request: HTTPRequest, options: TransferOptions) async throws(TransportError) -> HTTPResponse
}
