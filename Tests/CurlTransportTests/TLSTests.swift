import CurlTransport
import HTTPMessages
import PosternSupport
import Testing

@Suite("TLS and HTTP/2", .timeLimit(.minutes(3)))
struct TLSTests {
  private let servers: TLSServers

  init() throws { servers = try TLSServers.shared.get() }

  private func withTransport<Result>(
    _ configuration: CurlTransport.Configuration = .testing(), _ body: (CurlTransport) async throws -> Result
  ) async throws -> Result {
    let transport = try CurlTransport(configuration: configuration)
    defer { transport.close() }
    return try await body(transport)
  }

  /// Trusts authority A, and plain http never.
  private func trusting(_ change: (inout TransferOptions) -> Void = { _ in }) -> TransferOptions {
    var options = TransferOptions(to: ServerAccess(tls: TLSSettings(caFile: servers.certificates.authority)))
    change(&options)
    return options
  }

  // MARK: - Trust

  @Test("a server that proves its name is spoken to, in HTTP/2 where it can", arguments: ["127.0.0.1", "localhost"])
  func trusted(host: String) async throws {
    try await withTransport { transport in
      let good = try await transport.send(servers.url(.good, host: host), options: trusting())
      #expect(good.text == "good over HTTP/2.0 with TLSv1.3")
      #expect(good.reason == nil)
      let old = try await transport.send(servers.url(.old, host: host), options: trusting())
      #expect(old.text == "old over HTTP/1.1 with TLSv1.3")
      #expect(old.reason == "OK")
    }
  }

  @Test("HTTP/2 is not offered unless the configuration enables it")
  func withoutHTTP2() async throws {
    try await withTransport(CurlTransport.Configuration()) { transport in
      let response = try await transport.send(servers.url(.good), options: trusting())
      #expect(response.text == "good over HTTP/1.1 with TLSv1.3")
    }
  }

  @Test(
    "a server that does not prove its name is not spoken to",
    arguments: [TLSServers.Site.other, .wrong, .expired, .weak])
  func untrusted(site: TLSServers.Site) async throws {
    try await withTransport { transport in
      let error = try await transport.failure("POST", servers.url(site), body: [1], options: trusting())
      #expect(error == TransportError(code: .tlsFailure, outcome: .notSent, detail: ""), "\(String(describing: error))")
      #expect(error.map { !$0.detail.isEmpty } == true)
    }
  }

  @Test("the system does not know our authority")
  func systemTrust() async throws {
    try await withTransport { transport in
      let error = try await transport.failure(servers.url(.good), options: trusting { $0.access.tls.caFile = nil })
      #expect(error == TransportError(code: .tlsFailure, outcome: .notSent, detail: ""))
    }
  }

  @Test("a file without authorities trusts no server", arguments: ["/nonexistent", "/dev/null"])
  func unusableAuthorities(file: String) async throws {
    try await withTransport { transport in
      let error = try await transport.failure(servers.url(.good), options: trusting { $0.access.tls.caFile = file })
      #expect(error == TransportError(code: .tlsFailure, outcome: .notSent, detail: ""))
    }
  }

  @Test("the configuration's authorities hold where the exchange names none")
  func configuredTrust() async throws {
    try await withTransport(.testing { $0.caFile = servers.certificates.authority }) { transport in
      let response = try await transport.send(servers.url(.good), options: trusting { $0.access.tls.caFile = nil })
      #expect(response.status == 200)
      let other = servers.certificates.otherAuthority
      let error = try await transport.failure(servers.url(.good), options: trusting { $0.access.tls.caFile = other })
      #expect(error?.code == .tlsFailure)
    }
  }

  @Test("a connection verified under one file is not taken for another", arguments: [TLSServers.Site.good, .old])
  func trustIsPartOfTheConnection(site: TLSServers.Site) async throws {
    try await withTransport { transport in
      for _ in 0..<3 {
        let response = try await transport.send(servers.url(site), options: trusting())
        #expect(response.status == 200)
        for file in [servers.certificates.otherAuthority, nil] {
          let error = try await transport.failure(servers.url(site), options: trusting { $0.access.tls.caFile = file })
          #expect(error == TransportError(code: .tlsFailure, outcome: .notSent, detail: ""))
        }
      }
      // The good one was kept all the while.
      #expect(transport.statistics().connectionsReused == 2)
    }
  }

  @Test("many exchanges under two trusts at once never mix them up")
  func trustsAtOnce() async throws {
    try await withTransport { transport in
      let wrong = await withTaskGroup(of: Int.self) { group in
        for index in 0..<60 {
          let isRight = index % 2 == 0
          let file = isRight ? servers.certificates.authority : servers.certificates.otherAuthority
          let options = trusting { $0.access.tls.caFile = file }
          group.addTask {
            let status = try? await transport.send(servers.url(.good), options: options).status
            return (status == 200) == isRight ? 0 : 1
          }
        }
        return await group.reduce(0, +)
      }
      #expect(wrong == 0)
    }
  }

  // MARK: - HTTP/2

  @Test(
    "an HTTP/2 connection is kept for the next exchange, and shared at once where that is wanted",
    arguments: [false, true])
  func keptAndShared(shares: Bool) async throws {
    try await withTransport(.testing { $0.multiplexesHTTP2 = shares }) { transport in
      let wrong = await withTaskGroup(of: Int.self) { group in
        for index in 0..<50 {
          group.addTask {
            let text = try? await transport.send(servers.url(.good, "/upstream/\(index)"), options: trusting()).text
            return text == "hello GET /upstream/\(index)" ? 0 : 1
          }
        }
        return await group.reduce(0, +)
      }
      #expect(wrong == 0)
      let opened = transport.statistics().connectionsOpened
      #expect(shares ? opened == 1 : opened <= 50)
      for _ in 0..<5 { _ = try await transport.send(servers.url(.good), options: trusting()) }
      #expect(transport.statistics().connectionsOpened == opened)
    }
  }

  @Test("methods, fields and bodies go through HTTP/2 as through HTTP/1.1", arguments: [TLSServers.Site.good, .old])
  func sameOverBoth(site: TLSServers.Site) async throws {
    let body = (0..<3_000_000).map { UInt8(truncatingIfNeeded: $0 &* 2_654_435_761 >> 11) }
    try await withTransport { transport in
      for method in ["POST", "PUT", "PATCH", "DELETE"] {
        let response = try await transport.send(
          method, servers.url(site, "/upstream/\(method)"), fields: [("X-A", "1"), ("X-A", "2"), ("X-Empty", "")],
          body: body,
          options: trusting())
        #expect(response.body == body)
        #expect(response.fields.values(of: "a") == ["1", "2"])
        let request = try #require(servers.upstream.requests.last { $0.target == "/upstream/\(method)" })
        #expect(request.method == method && request.body == body)
        #expect(request.values(of: "x-a") == ["1", "2"] && request.values(of: "x-empty") == [""])
        #expect(request.values(of: "accept") == [] && request.values(of: "content-type") == [])
      }
      let head = try await transport.send("HEAD", servers.url(site, "/upstream/x"), options: trusting())
      #expect(head.status == 200 && head.body.isEmpty && head.fields["Content-Length"] != nil)
    }
  }

  @Test("codings are undone over HTTP/2, too")
  func codings() async throws {
    try await withTransport { transport in
      let body = Array(String(repeating: "compressible ", count: 1000).utf8)
      let response = try await transport.send("POST", servers.url(.good, "/gzip/x"), body: body, options: trusting())
      #expect(response.body == body)
      #expect(response.fields["Content-Encoding"] == nil && response.fields["Content-Length"] == nil)
      let error = try await transport.failure(
        "POST", servers.url(.good, "/gzip/x"), body: body, options: trusting { $0.maxBodyBytes = body.count - 1 })
      #expect(error == TransportError(code: .responseTooLarge, outcome: .replied, detail: ""))
    }
  }

  @Test("what happens to one stream does not happen to its neighbours")
  func streamsAreIndependent() async throws {
    let url = servers.url(.good, "/upstream/hold")
    try await withTransport { transport in
      _ = try await transport.send(servers.url(.good), options: trusting())
      let streams = (0..<5).map { _ in Task { try await transport.failure(url, options: trusting()) } }
      await until { transport.statistics().exchangesInFlight == 5 }
      let cut = try await transport.failure(servers.url(.good, "/upstream/cut"), options: trusting())
      #expect(cut?.code == .protocolError && cut?.outcome == .replied)
      let large = try await transport.failure(
        "POST", servers.url(.good, "/upstream/large"), body: Array(repeating: 1, count: 100_000),
        options: trusting { $0.maxBodyBytes = 10 })
      #expect(large == TransportError(code: .responseTooLarge, outcome: .replied, detail: ""))
      streams[2].cancel()
      let cancelled = try await streams[2].value
      #expect(cancelled?.code == .cancelled)
      let response = try await transport.send(servers.url(.good, "/upstream/still"), options: trusting())
      #expect(response.text == "hello GET /upstream/still")
      #expect(transport.statistics().exchangesInFlight == 4)
      for task in streams { task.cancel() }
      for task in streams { _ = try await task.value }
    }
  }

  @Test("a server that closes (GOAWAY) after some requests loses none of them", arguments: ["GET", "POST"])
  func goodbye(method: String) async throws {
    try await withTransport { transport in
      let failures = await withTaskGroup(of: [TransportError].self) { group in
        for worker in 0..<4 {
          group.addTask {
            var failures: [TransportError] = []
            for index in 0..<30 {
              let url = servers.url(.brief, "/upstream/\(worker)-\(index)")
              let error = try? await transport.failure(
                method, url, body: method == "POST" ? [1] : nil, options: trusting())
              if let error { failures.append(error) }
            }
            return failures
          }
        }
        return await group.reduce(into: []) { $0 += $1 }
      }
      #expect(failures == [])
    }
  }
}
