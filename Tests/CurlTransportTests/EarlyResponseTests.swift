import CurlTransport
import HTTPMessages
import PosternSupport
import Testing

@Suite("A response that comes before the request's body is whole", .timeLimit(.minutes(3)))
struct EarlyResponseTests {
  @Test(
    "an exchange waits for a body that the server does not want", arguments: [300, 400, 401, 413, 503], [nil, 1000])
  func rejected(status: Int, length: Int64?) async throws {
    try await withServer { connection in
      guard connection.readTargetIgnoringBody() != nil else { return }
      connection.send("HTTP/1.1 \(status) X\r\nContent-Length: 2\r\n\r\nno")
      connection.waitForPeer()
    } _: { server, transport in
      let control = TransferControl()
      control.beginUpload()
      _ = await control.upload([1, 2, 3])
      var request = HTTPRequest(method: "POST", url: try HTTPURL(server.url()))
      request.streamedBody = StreamedRequestBody(length: length)
      // Nothing more is uploaded.
      let response = try await transport.send(request, options: .testing { $0.control = control })
      #expect(response.status == status && response.text == "no")
      await until { server.open == 0 }
    }
  }

  @Test("a response that begins while the body is sent keeps the rest of it back")
  func accepted() async throws {
    try await withServer { connection in
      guard connection.readTargetIgnoringBody() != nil else { return }
      connection.send("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n")
      // The rest of the body comes as something that looks like a request.
      if let rest = connection.readTargetIgnoringBody() { connection.send(rest) }
    } _: { server, transport in
      let control = TransferControl()
      control.beginUpload()
      var request = HTTPRequest(method: "POST", url: try HTTPURL(server.url()))
      request.streamedBody = StreamedRequestBody(length: 10)
      async let response = transport.send(request, options: .testing { $0.control = control })
      await until { transport.statistics().exchangesInFlight == 1 }
      _ = await control.upload(Array("X ok Y\r\n\r\n".utf8))
      control.endUpload(.complete)
      let text = try await response.text
      #expect(text == "ok")
    }
  }
}
