public import HTTPMessages
import PosternSupport

/// A transport whose answers a test writes; it records the requests.
public final class ScriptedTransport: HTTPTransport {
  /// Answers one request.
  public typealias Script = @Sendable (HTTPRequest, TransferOptions) async throws(TransportError) -> HTTPResponse

  private let script: Script
  private let log = Locked<[(request: HTTPRequest, options: TransferOptions)]>([])

  /// A transport that answers by `script`.
  public init(_ script: @escaping Script) { self.script = script }

  /// The requests so far, in the order in which they came.
  public var requests: [HTTPRequest] { log.withLock { $0.map(\.request) } }

  /// How each of them was to be carried out.
  public var options: [TransferOptions] { log.withLock { $0.map(\.options) } }

  /// The requests so far whose URL begins with `prefix`.
  public func requests(to prefix: String) -> [HTTPRequest] {
    requests.filter { $0.url.description.hasPrefix(prefix) }
  }

  /// Records the request and runs the script.
  public func send(_ request: HTTPRequest, options: TransferOptions) async throws(TransportError) -> HTTPResponse {
    log.withLock { $0.append((request, options)) }
    return try await script(request, options)
  }
}
