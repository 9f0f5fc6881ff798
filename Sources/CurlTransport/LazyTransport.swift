package import HTTPMessages
import PosternSupport

/// A transport that starts with its first exchange.
package final class LazyTransport: HTTPTransport {
  private let configuration: CurlTransport.Configuration
  private let transport = Locked<CurlTransport?>(nil)
  private let isClosed = Locked(false)
  private let onEnd: @Sendable (CurlTransport.Statistics?) -> Void

  /// `onEnd` is called when nothing has the transport any more, with the counts if it was started.
  package init(
    _ configuration: CurlTransport.Configuration, onEnd: @escaping @Sendable (CurlTransport.Statistics?) -> Void
  ) {
    self.configuration = configuration
    self.onEnd = onEnd
  }

  deinit { onEnd(statistics) }

  /// Ends every exchange, and fails later ones; see `CurlTransport.close`.
  package func close() {
    isClosed.withLock { $0 = true }
    transport.withLock { $0 }?.close()
  }

  /// The counts; nil before the first exchange.
  package var statistics: CurlTransport.Statistics? { transport.withLock { $0 }?.statistics() }

  package func send(_ request: HTTPRequest, options: TransferOptions) async throws(TransportError) -> HTTPResponse {
    try await started().send(request, options: options)
  }

  package func start(
    _ request: HTTPRequest, options: TransferOptions,
    whenEnded: @escaping @Sendable (Result<HTTPResponse, TransportError>) -> Void
  ) -> (any TransferHandle)? {
    do throws(TransportError) {
      return try started().start(request, options: options, whenEnded: whenEnded)
    } catch {
      whenEnded(.failure(error))
      return nil
    }
  }

  private func started() throws(TransportError) -> CurlTransport {
    let result = transport.withLock { transport -> Result<CurlTransport, CurlTransport.StartError> in
      if let transport { return .success(transport) }
      guard !isClosed.withLock({ $0 }) else { return .failure(CurlTransport.StartError("it is closed")) }
      do throws(CurlTransport.StartError) {
        let new = try CurlTransport(configuration: configuration)
        transport = new
        return .success(new)
      } catch {
        return .failure(error)
      }
    }
    switch result {
    case .success(let transport): return transport
    case .failure(let error):
      throw TransportError(code: .internalError, outcome: .notSent, detail: "no transport: \(error)")
    }
  }
}
