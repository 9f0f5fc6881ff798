import CurlTransport
import HTTPMessages
import PosternSupport

/// Runs `body` with a server and a transport, and ends both.
func withServer<Result>(
  configuration: CurlTransport.Configuration = .testing(),
  script: @escaping @Sendable (RawConnection) -> Void,
  _ body: (RawServer, CurlTransport) async throws -> Result
) async throws -> Result {
  let server = try RawServer(script: script)
  let transport = try CurlTransport(configuration: configuration)
  defer {
    transport.close()
    server.stop()
  }
  return try await body(server, transport)
}

extension CurlTransport.Configuration {
  /// Looks at the clock often, because a manual one does not wake the loop. With HTTP/2, which is off otherwise.
  static func testing(
    clock: any EngineClock = SystemClock(), _ change: (inout CurlTransport.Configuration) -> Void = { _ in }
  ) -> CurlTransport.Configuration {
    var configuration = CurlTransport.Configuration(clock: clock)
    configuration.pollInterval = .milliseconds(5)
    configuration.allowsHTTP2 = true
    change(&configuration)
    return configuration
  }
}

extension CurlTransport {
  /// Sends with options that allow plain http.
  func send(
    _ method: String = "GET", _ url: String, fields: [(String, String)] = [], body: [UInt8]? = nil,
    options: TransferOptions = .testing()
  ) async throws -> HTTPResponse {
    var request = HTTPRequest(method: method, url: try HTTPURL(url), body: body)
    for (name, value) in fields { request.fields.append(name, value) }
    return try await send(request, options: options)
  }

  /// The error of an exchange that must fail.
  func failure(
    _ method: String = "GET", _ url: String, fields: [(String, String)] = [], body: [UInt8]? = nil,
    options: TransferOptions = .testing()
  ) async throws -> TransportError? {
    do {
      _ = try await send(method, url, fields: fields, body: body, options: options)
      return nil
    } catch let error as TransportError {
      return error
    }
  }
}

extension TransferOptions {
  static func testing(_ change: (inout TransferOptions) -> Void = { _ in }) -> TransferOptions {
    var options = TransferOptions(to: ServerAccess(plainHTTP: PlainHTTPRule(allowsLoopback: true)))
    change(&options)
    return options
  }
}

extension HTTPResponse {
  var text: String { String(decoding: body, as: UTF8.self) }
}

/// A response of status 200 with that body.
func ok(_ body: String = "", fields: String = "") -> String {
  "HTTP/1.1 200 OK\r\nContent-Length: \(body.utf8.count)\r\n\(fields)\r\n\(body)"
}
