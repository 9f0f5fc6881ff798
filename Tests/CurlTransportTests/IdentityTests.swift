import CurlTransport
import Foundation
import HTTPMessages
import PosternSupport
import Testing

@Suite("TLS: client certificates", .timeLimit(.minutes(3)))
struct IdentityTests {
  private let servers: TLSServers

  init() throws { servers = try TLSServers.shared.get() }

  private var certificates: Certificates { servers.certificates }

  private func withTransport<Result>(_ body: (CurlTransport) async throws -> Result) async throws -> Result {
    let transport = try CurlTransport(configuration: .testing())
    defer { transport.close() }
    return try await body(transport)
  }

  private func identity(_ name: String) -> ClientIdentity {
    ClientIdentity(certificateFile: certificates.certificate(name), key: .file(certificates.key(name)))
  }

  private func options(as name: String? = nil) -> TransferOptions {
    TransferOptions(
      to: ServerAccess(tls: TLSSettings(caFile: certificates.authority, clientIdentity: name.map(identity))))
  }

  /// The client that the server saw, whether the TLS session was an old one, and on which connection.
  private func seen(_ response: HTTPResponse) -> (client: String, resumption: String, connection: String) {
    let parts = response.text.components(separatedBy: " ")
    return parts.count == 3 ? (parts[0], parts[1], parts[2]) : (response.text, "", "")
  }

  @Test("a server that requests a certificate sees it, and one that demands it accepts it", arguments: [false, true])
  func presented(isText: Bool) async throws {
    let text = try String(contentsOfFile: certificates.key("alice"), encoding: .utf8)
    let key = isText ? ClientIdentity.Key.text(Secret(text)) : .file(certificates.key("alice"))
    let alice = ClientIdentity(certificateFile: certificates.certificate("alice"), key: key)
    try await withTransport { transport in
      for site in [TLSServers.Site.deep, .deepAndOld, .demanding] {
        var options = options()
        options.access.tls.clientIdentity = alice
        let response = try await transport.send(servers.url(site, "/tls"), options: options)
        #expect(seen(response).client == "CN=alice", "\(site): \(response.text)")
      }
    }
  }

  @Test("a server that demands a certificate rejects a missing and an expired one", arguments: [nil, "lapsed"])
  func rejected(name: String?) async throws {
    try await withTransport { transport in
      let response = try await transport.send(servers.url(.demanding, "/tls"), options: options(as: name))
      #expect(response.status == 400)
    }
  }

  @Test(
    "no request goes over a connection or resumes a session of another client, or of none",
    arguments: [TLSServers.Site.deep, .deepAndOld])
  func neverMixed(site: TLSServers.Site) async throws {
    try await withTransport { transport in
      var connections: [String: Set<String>] = [:]
      for _ in 0..<4 {
        for name in ["alice", nil, "bob", nil, "alice", "bob"] {
          let response = try await transport.send(servers.url(site, "/tls"), options: options(as: name))
          let (client, resumption, connection) = seen(response)
          #expect(client == (name.map { "CN=\($0)" } ?? ""))
          if name != nil { #expect(resumption == ".") }
          connections[client, default: []].insert(connection)
        }
      }
      // Each has one connection, kept all the while.
      #expect(connections.values.allSatisfy { $0.count == 1 })
      #expect(Set(connections.values.flatMap(\.self)).count == 3)
    }
  }

  @Test("many clients at once are never taken for each other")
  func atOnce() async throws {
    try await withTransport { transport in
      let wrong = await withTaskGroup(of: Int.self) { group in
        for index in 0..<90 {
          let name = ["alice", "bob", nil][index % 3]
          let options = options(as: name)
          group.addTask {
            let text = try? await transport.send(servers.url(.deep, "/tls"), options: options).text
            let client = name.map { "CN=\($0)" } ?? ""
            return text?.hasPrefix("\(client) ") == true ? 0 : 1
          }
        }
        return await group.reduce(0, +)
      }
      #expect(wrong == 0)
    }
  }

  @Test("replaced files are used by the next request; one half of a replacement changes nothing yet")
  func rotated() async throws {
    let folder = FileManager.default.temporaryDirectory.appendingPathComponent(UUID().uuidString).path
    try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
    defer { try? FileManager.default.removeItem(atPath: folder) }
    let identity = ClientIdentity(certificateFile: "\(folder)/own.pem", key: .file("\(folder)/own.key"))
    func put(_ text: String, _ name: String) throws {
      try text.write(toFile: "\(folder)/\(name)", atomically: true, encoding: .utf8)
    }
    func read(_ path: String) throws -> String { try String(contentsOfFile: path, encoding: .utf8) }
    try put(read(certificates.certificate("alice")), "own.pem")
    try put(read(certificates.key("alice")), "own.key")
    var options = options()
    options.access.tls.clientIdentity = identity
    let url = servers.url(.deep, "/tls")
    try await withTransport { transport in
      #expect(seen(try await transport.send(url, options: options)).client == "CN=alice")
      try put(read(certificates.certificate("bob")), "own.pem")
      #expect(seen(try await transport.send(url, options: options)).client == "CN=alice")
      try put(read(certificates.key("bob")), "own.key")
      #expect(seen(try await transport.send(url, options: options)).client == "CN=bob")
      try put("garbage", "own.pem")
      #expect(seen(try await transport.send(url, options: options)).client == "CN=bob")
      #expect(transport.statistics().connectionsOpened == 2)
    }
  }

  @Test("a replaced file of authorities holds for the next request")
  func rotatedAuthorities() async throws {
    let file = FileManager.default.temporaryDirectory.appendingPathComponent("\(UUID().uuidString).pem").path
    defer { try? FileManager.default.removeItem(atPath: file) }
    func put(_ authority: String) throws {
      try String(contentsOfFile: authority, encoding: .utf8).write(toFile: file, atomically: true, encoding: .utf8)
    }
    try put(certificates.authority)
    try await withTransport { transport in
      let options = TransferOptions(to: ServerAccess(tls: TLSSettings(caFile: file)))
      #expect(try await transport.send(servers.url(.good), options: options).status == 200)
      try put(certificates.otherAuthority)
      let error = try await transport.failure(servers.url(.good), options: options)
      #expect(error?.code == .tlsFailure)
      try put(certificates.authority)
      #expect(try await transport.send(servers.url(.good), options: options).status == 200)
    }
  }

  @Test(
    "an identity that is not usable fails by name before anything is sent, without quoting the key",
    arguments: [
      ("/nonexistent", "alice.key"), ("alice.pem", "/nonexistent"), ("alice.pem", "bob.key"),
      ("alice.key", "alice.key"), ("alice.pem", "alice.pem"), ("/dev/null", "alice.key"),
    ])
  func unusable(certificate: String, key: String) async throws {
    func location(_ name: String) -> String { name.hasPrefix("/") ? name : certificates.path(name) }
    var options = options()
    options.access.tls.clientIdentity = ClientIdentity(
      certificateFile: location(certificate), key: .file(location(key)))
    try await withTransport { transport in
      let error = try await transport.failure("POST", servers.url(.deep), body: [1], options: options)
      #expect(error == TransportError(code: .tlsFailure, outcome: .notSent, detail: ""))
      #expect(error?.detail.contains("the client certificate cannot be used") == true)
      #expect(error?.detail.contains("PRIVATE") == false)
    }
  }
}
