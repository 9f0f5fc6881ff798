public import PosternKit
import Synchronization

/// A transport for tests: no network, and a record of what would have been sent.
public final class RecordedTransport: HTTPTransport {
  private let log = Mutex<[HTTPRequest]>([])

  /// A transport without requests so far.
  public init() {}

  /// The requests so far.
  public var requests: [HTTPRequest] { log.withLock { $0 } }

  /// Answers as the servers of the program would.
  public func send(_ request: HTTPRequest, options: TransferOptions) async throws(TransportError) -> HTTPResponse {
    log.withLock { $0.append(request) }
    switch request.url.path {
    case "/token":
      let token = #"{"access_token":"at-1","token_type":"Bearer","expires_in":3600}"#
      return HTTPResponse(status: 200, fields: ["Content-Type": "application/json"], body: Array(token.utf8))
    case "/orders": return HTTPResponse(status: 200, body: Array("[]".utf8))
    default: return HTTPResponse(status: 404)
    }
  }
}

extension Shop {
  /// The program over a double: its configuration, its rules and its errors are the real ones.
  public static func inTest(over transport: RecordedTransport, at time: any EngineClock) async throws -> Shop {
    var options = Postern.Options()
    options.transport = transport
    options.clock = time
    options.storage = PosternEngine.SessionStorage(MemoryRecordStore())
    options.environment = [:]
    let postern = try await Postern(
      configuration: [
        "issuers": [
          "corp": [
            "issuer": "https://corp.test", "clientId": "shop", "clientSecret": "s3cret",
            "endpoints": ["token": "https://corp.test/token"],
          ]
        ],
        "resources": ["jobs": ["baseUrl": "https://api.test/", "issuer": "corp", "auth": "clientCredentials"]],
      ], options: options)
    return Shop(postern)
  }
}
