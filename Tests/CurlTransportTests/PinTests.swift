import CurlTransport
import HTTPMessages
import PosternSupport
import Testing

@Suite("TLS: pins", .timeLimit(.minutes(3)))
struct PinTests {
  private static let foreign = "sha256/AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA="
  private let servers: TLSServers

  init() throws { servers = try TLSServers.shared.get() }

  private func withTransport<Result>(_ body: (CurlTransport) async throws -> Result) async throws -> Result {
    let transport = try CurlTransport(configuration: .testing())
    defer { transport.close() }
    return try await body(transport)
  }

  /// Trusting A, pinned to the keys of these certificates; an empty name is a key that no server has.
  private func options(_ names: [String], _ scope: KeyPins.Scope = .chain) throws -> TransferOptions {
    let pins = try names.map { try $0.isEmpty ? Self.foreign : servers.certificates.pin($0) }
    return TransferOptions(
      to: ServerAccess(
        tls: TLSSettings(caFile: servers.certificates.authority, pins: try KeyPins(pins, scope: scope))))
  }

  @Test(
    "a key of the verified chain that is pinned lets the request through, a backup that is not in use does no harm",
    arguments: [
      (["deep"], KeyPins.Scope.leaf), (["", "deep"], .leaf), (["deep"], .chain), (["middle"], .chain),
      (["a"], .chain), (["", "b", "a"], .chain),
    ])
  func pinned(names: [String], scope: KeyPins.Scope) async throws {
    try await withTransport { transport in
      for site in [TLSServers.Site.deep, .deepAndOld] {
        let response = try await transport.send(servers.url(site), options: options(names, scope))
        #expect(response.status == 200)
      }
    }
  }

  @Test(
    "no pinned key: nothing is sent, and the error names the keys that were seen",
    arguments: [
      ([""], KeyPins.Scope.chain, ["deep", "middle", "a"]), (["b", "good"], .chain, ["deep", "middle", "a"]),
      ([""], .leaf, ["deep"]), (["middle", "a"], .leaf, ["deep"]),
    ])
  func unpinned(names: [String], scope: KeyPins.Scope, seen: [String]) async throws {
    try await withTransport { transport in
      for site in [TLSServers.Site.deep, .deepAndOld] {
        let options = try options(names, scope)
        for _ in 0..<2 {
          let error = try await transport.failure("POST", servers.url(site), body: [1], options: options)
          #expect(error == TransportError(code: .pinMismatch, outcome: .notSent, detail: ""))
          let keys = try seen.map(servers.certificates.pin).joined(separator: ", ")
          #expect(error?.detail.hasSuffix(": \(keys)") == true, "\(error?.detail ?? "")")
        }
      }
    }
  }

  @Test("where every server needs pins, a request without them opens a connection, or one with them is not sent")
  func required() async throws {
    let server = try RawServer { _ in }
    defer { server.stop() }
    let transport = try CurlTransport(configuration: .testing { $0.requiresPins = true })
    defer { transport.close() }
    let unpinned = [
      try await transport.failure(server.url()),
      try await transport.failure(
        servers.url(.deep),
        options: TransferOptions(to: ServerAccess(tls: TLSSettings(caFile: servers.certificates.authority)))),
    ]
    for error in unpinned {
      #expect(error == TransportError(code: .pinMismatch, outcome: .notSent, detail: ""))
      #expect(error?.detail == "every server needs pins, and none are set for this one")
    }
    #expect(server.accepted == 0)
    #expect(try await transport.send(servers.url(.deep), options: options(["deep"])).status == 200)
    #expect(!CurlTransport.Configuration().requiresPins)
  }

  @Test("pins come on top of the ordinary checks", arguments: [TLSServers.Site.other, .wrong, .expired])
  func notInstead(site: TLSServers.Site) async throws {
    try await withTransport { transport in
      let error = try await transport.failure(servers.url(site), options: options(["b", "other", "wrong", "expired"]))
      #expect(error == TransportError(code: .tlsFailure, outcome: .notSent, detail: ""))
    }
  }

  @Test(
    "a connection or session made without pins, or with others, is not used for a pinned request",
    arguments: [TLSServers.Site.deep, .deepAndOld])
  func neverCarriedPast(site: TLSServers.Site) async throws {
    try await withTransport { transport in
      let free = TransferOptions(to: ServerAccess(tls: TLSSettings(caFile: servers.certificates.authority)))
      for _ in 0..<3 {
        #expect(try await transport.send(servers.url(site), options: free).status == 200)
        #expect(try await transport.send(servers.url(site), options: options(["deep"])).status == 200)
        for names in [["b"], ["", "good"]] {
          let error = try await transport.failure(servers.url(site), options: options(names))
          #expect(error?.code == .pinMismatch)
        }
        let leaf = try await transport.failure(servers.url(site), options: options(["middle"], .leaf))
        #expect(leaf?.code == .pinMismatch)
      }
      // Those two were kept all the while.
      #expect(transport.statistics().connectionsReused == 4)
    }
  }

  @Test("a pinned request makes a full handshake where others resume a session")
  func noResumption() async throws {
    try await withTransport { transport in
      for _ in 0..<3 {
        let pinned = try options(["good"])
        _ = try await transport.failure(servers.url(.brief, "/upstream/cut"), options: pinned)
        let text = try await transport.send(servers.url(.brief, "/tls"), options: pinned).text
        #expect(text.contains(" . "), "\(text)")
      }
    }
  }

  @Test("after a mismatch the same handle reports other faults as what they are")
  func forgotten() async throws {
    try await withTransport { transport in
      let pinned = try options([""])
      #expect(try await transport.failure(servers.url(.deep), options: pinned)?.code == .pinMismatch)
      #expect(try await transport.failure(servers.url(.expired), options: pinned)?.code == .tlsFailure)
      let error = try await transport.failure("https://127.0.0.1:1/", options: pinned)
      #expect(error?.code == .serverUnreachable)
    }
  }

  @Test("the system's authorities can be pinned, too")
  func systemAuthorities() async throws {
    try await withTransport { transport in
      var pinned = try options(["a"])
      pinned.access.tls.caFile = nil
      let error = try await transport.failure(servers.url(.deep), options: pinned)
      #expect(error == TransportError(code: .tlsFailure, outcome: .notSent, detail: ""))
    }
  }
}
