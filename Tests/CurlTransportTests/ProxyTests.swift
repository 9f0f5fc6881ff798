import CurlTransport
import HTTPMessages
import PosternSupport
import Testing

/// Good and bad proxies. Names end in `.test`: only a proxy could reach them.
@Suite("Outbound proxy", .serialized)
struct ProxyTests {
  @Test("http goes in absolute form, over a connection of its own; https only as CONNECT, without the request's fields")
  func forms() async throws {
    try await withProxy { connection in
      // Behind the answer to CONNECT it closes: the server's TLS fails.
      let isTunnel = connection.readRequest()?.line.hasPrefix("CONNECT") == true
      connection.send(isTunnel ? "HTTP/1.1 200 OK\r\n\r\n" : ok("from the proxy"))
      connection.close()
    } _: { proxy, transport in
      for _ in 0..<2 {
        let response = try await transport.send("GET", "http://app.test/a?b", fields: [("Authorization", "Bearer x")])
        #expect(response.text == "from the proxy")
        #expect(proxy.requests.last?.line == "GET http://app.test/a?b HTTP/1.1")
      }
      // Would catch a kept connection, which another user's request could meet.
      #expect(proxy.accepted == 2)
      let error = try await transport.failure("GET", "https://app.test/", fields: [("Authorization", "Bearer x")])
      #expect(error == TransportError(code: .tlsFailure, outcome: .notSent, detail: ""))
      #expect(error?.proxy == nil, "the tunnel was there")
      #expect(proxy.requests.last?.line == "CONNECT app.test:443 HTTP/1.1")
      #expect(proxy.requests.last?.values(of: "authorization") == [])
    }
  }

  @Test(
    "its own failure is not the server's: nothing was sent, and its status shows whether to try again",
    arguments: [
      (407, false), (403, false), (401, false), (302, false), (100, false), (502, true), (503, true), (504, true),
      (429, true),
    ])
  func statuses(status: Int, isTransient: Bool) async throws {
    try await withProxy(password: "hunter2") { connection in
      connection.serve { _ in
        "HTTP/1.1 \(status) X\r\nWWW-Authenticate: Basic realm=x\r\nProxy-Authenticate: Basic realm=x\r\nContent-Length: 0\r\n\r\n"
      }
    } _: { proxy, transport in
      let error = try await transport.failure("POST", "https://app.test/", fields: [("Authorization", "Bearer x")])
      #expect(error == TransportError(code: .serverUnreachable, outcome: .notSent, detail: ""))
      #expect(error?.proxy == TransportError.ProxyFault(status: status, isTransient: isTransient))
      #expect(error?.detail.contains("proxy") == true && error?.detail.contains("hunter2") == false)
      // CVE-2026-86414: a 401 to CONNECT would get the server's credentials from some versions of libcurl.
      #expect(proxy.requests.allSatisfy { $0.line.hasPrefix("CONNECT ") && $0.values(of: "authorization") == [] })
    }
  }

  @Test("a 407 in absolute form is the proxy's failure, too")
  func absoluteForm407() async throws {
    try await withProxy { connection in
      connection.serve { _ in "HTTP/1.1 407 X\r\nContent-Length: 3\r\n\r\nbad" }
    } _: { _, transport in
      let error = try await transport.failure("GET", "http://app.test/")
      #expect(error?.code == .serverUnreachable && error?.outcome == .notSent)
      #expect(error?.proxy == TransportError.ProxyFault(status: 407, isTransient: false))
    }
  }

  /// Would catch libcurl reading on for as long as the proxy sends: it has no bound for a body in the answer to
  /// CONNECT.
  @Test(
    "an answer to CONNECT that has no end, or is none, ends the exchange",
    arguments: [
      "HTTP/1.1 200 OK\r\n" + String(repeating: "X-Long: \(String(repeating: "y", count: 1000))\r\n", count: 1000),
      "HTTP/1.1 407 X\r\nProxy-Authenticate: Basic realm=x\r\nContent-Length: 9999999\r\n\r\n"
        + String(repeating: "z", count: 1 << 20),
      String(repeating: "HTTP/1.1 100 Continue\r\n\r\n", count: 10_000), "SSH-2.0-OpenSSH_9.2\r\n", "\r\n\r\n\r\n", "",
    ])
  func garbage(answer: String) async throws {
    try await withProxy { connection in
      _ = connection.readRequest()
      connection.send(answer)
      connection.close()
    } _: { _, transport in
      var options = TransferOptions.testing()
      options.connectTimeout = .seconds(5)
      let error = try await transport.failure("https://app.test/", options: options)
      #expect(error?.outcome == .notSent)
      #expect([.serverUnreachable, .tlsFailure].contains(error?.code))
      #expect(error?.proxy != nil, "\(String(describing: error))")
    }
  }

  @Test("bytes behind the answer to CONNECT are not taken for the server's")
  func injected() async throws {
    try await withProxy { connection in
      _ = connection.readRequest()
      connection.send(
        "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nevil")
      connection.close()
    } _: { _, transport in
      let error = try await transport.failure("https://app.test/")
      #expect(error?.outcome == .notSent && error?.code == .tlsFailure)
    }
  }

  @Test("no proxy there, and one that never answers")
  func silence() async throws {
    let port = try Loopback.freePorts(1)[0]
    let nothing = try CurlTransport(
      configuration: .testing { $0.proxy = OutboundProxySetting(try? OutboundProxy("http://127.0.0.1:\(port)")) })
    defer { nothing.close() }
    for url in ["https://app.test/", "http://app.test/"] {
      let error = try await nothing.failure(url)
      #expect(error?.code == .serverUnreachable && error?.outcome == .notSent)
      #expect(error?.proxy == TransportError.ProxyFault(status: nil, isTransient: true))
    }
    try await withProxy { connection in
      _ = connection.readRequest()
      _ = connection.readRequest()
    } _: { _, transport in
      var options = TransferOptions.testing()
      options.connectTimeout = .milliseconds(300)
      let error = try await transport.failure("https://app.test/", options: options)
      #expect(error?.code == .serverUnreachable && error?.outcome == .notSent)
      #expect(error?.proxy == TransportError.ProxyFault(status: nil, isTransient: true))
    }
  }

  @Test("credentials go to the proxy only, and to no server after it")
  func credentials() async throws {
    let direct = try RawServer { $0.serve { _ in ok("direct") } }
    defer { direct.stop() }
    try await withProxy(password: "hunter2") { connection in
      connection.serve { $0.line.hasPrefix("CONNECT") ? "HTTP/1.1 502 X\r\nContent-Length: 0\r\n\r\n" : ok("proxied") }
    } _: { proxy, transport in
      for _ in 0..<3 {
        _ = try await transport.failure("https://app.test/")
        #expect(try await transport.send("http://app.test/").text == "proxied")
        #expect(try await transport.send(direct.url()).text == "direct")
        var bypassing = TransferOptions.testing()
        bypassing.access.bypassesProxy = true
        #expect(try await transport.send(direct.url(), options: bypassing).text == "direct")
      }
      // svc:hunter2
      #expect(proxy.requests.allSatisfy { $0.values(of: "proxy-authorization") == ["Basic c3ZjOmh1bnRlcjI="] })
      #expect(direct.requests.allSatisfy { $0.values(of: "proxy-authorization") == [] })
    }
  }

  /// Would catch libcurl's decoding of a name and a password that it is given as such.
  @Test("credentials with percent signs, colons and letters of any script go as they are")
  func spelledCredentials() async throws {
    try await withProxy(password: "p%41%2541%zz%:é") { connection in
      connection.serve { $0.line.hasPrefix("CONNECT") ? "HTTP/1.1 502 X\r\nContent-Length: 0\r\n\r\n" : ok("proxied") }
    } _: { proxy, transport in
      for _ in 0..<2 {
        _ = try await transport.failure("https://app.test/")
        #expect(try await transport.send("http://app.test/").text == "proxied")
      }
      let expected = "Basic " + Base64.string(Array("svc:p%41%2541%zz%:é".utf8))
      #expect(proxy.requests.count == 4)
      #expect(proxy.requests.allSatisfy { $0.values(of: "proxy-authorization") == [expected] })
    }
  }

  @Test("without credentials that can be read nothing leaves, not even directly")
  func unreadableCredentials() async throws {
    let setting = OutboundProxySetting()
    try await withProxy(setting) {
      $0.serve { _ in ok() }
    } _: { proxy, transport in
      var one = try OutboundProxy(proxy.url(""))
      one.authentication = .basic(username: { Secret("svc") }, password: { nil })
      setting.replace(by: one)
      let error = try await transport.failure("http://app.test/")
      #expect(error?.proxy == TransportError.ProxyFault(status: nil, isTransient: false))
      #expect(error?.outcome == .notSent && proxy.accepted == 0)
    }
  }

  @Test("another proxy is for requests from then on")
  func replaced() async throws {
    let setting = OutboundProxySetting()
    try await withProxy(setting) {
      $0.serve { _ in ok("first") }
    } _: { _, transport in
      #expect(try await transport.send("http://app.test/").text == "first")
      let second = try RawServer { $0.serve { _ in ok("second") } }
      defer { second.stop() }
      setting.replace(by: try OutboundProxy(second.url("")))
      #expect(try await transport.send("http://app.test/").text == "second")
      setting.replace(by: nil)
      // Only a proxy could resolve this name.
      #expect(try await transport.failure("http://app.test/")?.proxy == nil)
    }
  }

  @Test(
    "a metadata service is not requested from it, whatever the configuration names",
    arguments: ["http://169.254.169.254/", "https://[fe80::1]/", "http://metadata.google.internal/"])
  func metadata(url: String) async throws {
    try await withProxy {
      $0.serve { _ in ok() }
    } _: { proxy, transport in
      var options = TransferOptions.testing()
      options.allowsLinkLocal = true
      let error = try await transport.failure(url, options: options)
      #expect(error == TransportError(code: .addressNotAllowed, outcome: .notSent, detail: ""))
      #expect(proxy.accepted == 0)
    }
  }

  @Test("an https proxy that has no TLS is named as the one that fails")
  func secureProxyWithoutTLS() async throws {
    let setting = OutboundProxySetting()
    try await withProxy(setting) { connection in
      connection.send("HTTP/1.1 400 Bad\r\n\r\n")
      connection.close()
    } _: { proxy, transport in
      setting.replace(by: try OutboundProxy(proxy.url("").replacing("http:", with: "https:")))
      for url in ["https://app.test/", "http://app.test/"] {
        let error = try await transport.failure(url)
        #expect(error == TransportError(code: .tlsFailure, outcome: .notSent, detail: ""))
        #expect(error?.proxy != nil && error?.detail.hasPrefix("the proxy: ") == true)
      }
    }
  }
}

/// Runs `body` with a proxy that does what `script` has, and a transport that goes through it.
private func withProxy(
  _ setting: OutboundProxySetting = OutboundProxySetting(), password: String? = nil,
  script: @escaping @Sendable (RawConnection) -> Void, _ body: (RawServer, CurlTransport) async throws -> Void
) async throws {
  try await withServer(configuration: .testing { $0.proxy = setting }, script: script) { server, transport in
    var proxy = try OutboundProxy(server.url(""))
    if let password {
      proxy.authentication = .basic(username: { Secret("svc") }, password: { Secret(password) })
    }
    setting.replace(by: proxy)
    try await body(server, transport)
  }
}
