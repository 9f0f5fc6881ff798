import CurlTransport
import Foundation
import HTTPMessages
import PosternSupport
import PosternTestSupport
import Testing

@Suite("TLS: what a handshake may cost", .timeLimit(.minutes(3)))
struct HandshakeTests {
  private let servers: TLSServers

  init() throws { servers = try TLSServers.shared.get() }

  private func failure(at site: TLSServers.Site) async throws -> TransportError? {
    let transport = try CurlTransport(configuration: .testing())
    defer { transport.close() }
    let options = TransferOptions(to: ServerAccess(tls: TLSSettings(caFile: servers.certificates.authority)))
    return try await transport.failure(servers.url(site), options: options)
  }

  @Test(
    "certificates that belong to nothing cost the thread what their sender likes",
    arguments: [
      (TLSServers.Site.costlyExponent, "an RSA exponent of more than 64 bits"),
      (.costlyExponentAndOld, "an RSA exponent of more than 64 bits"),
      (.costlyCurve, "an elliptic curve other than P-256, P-384 and P-521"),
      (.costlyCurveAndOld, "an elliptic curve other than P-256, P-384 and P-521"),
      (.otherCurve, "an elliptic curve other than P-256, P-384 and P-521"),
    ])
  func costly(row: (site: TLSServers.Site, reason: String)) async throws {
    let error = try #require(try await failure(at: row.site))
    #expect(error.code == .tlsFailure && error.outcome == .notSent)
    #expect(error.detail == "the server's certificate has a key that is too costly: \(row.reason)")
  }

  @Test(
    "any number of certificates is read, or any number of bytes",
    arguments: [(TLSServers.Site.tooMany, "more than 10 certificates"), (.tooLarge, "excessive message size")])
  func many(row: (site: TLSServers.Site, reason: String)) async throws {
    let error = try #require(try await failure(at: row.site))
    #expect(error.code == .tlsFailure && error.outcome == .notSent)
    #expect(error.detail.contains(row.reason), "\(error.detail)")
  }

  @Test("OpenSSL reads costly certificates before they are refused: a point on a curve of their own takes it long")
  func unread() async throws {
    _ = try await failure(at: .costlyCurve)
    // Had they been read, the alert would be another.
    let file = servers.log
    #expect(
      await eventually {
        (try? String(contentsOfFile: file, encoding: .utf8))?.contains("alert decode error") == true
      })
  }

  @Test("certificates with keys that are in use are rejected")
  func ordinary() async throws {
    #expect(try await failure(at: .manySorts) == nil)
  }

  @Test("a server may ask for a signature again and again, or for a key exchange that takes long")
  func groups() async throws {
    let seen = Locked<[UInt8]>([])
    let server = try RawServer { connection in
      if let record = connection.readRecord() { seen.withLock { $0 = record } }
    }
    defer { server.stop() }
    let transport = try CurlTransport(configuration: .testing())
    defer { transport.close() }
    _ = try await transport.failure("https://127.0.0.1:\(server.port)/")
    let hello = seen.withLock { $0 }
    // The extension supported_groups with 8 bytes (RFC 8446 section 4.2.7): x25519, secp256r1, secp384r1, secp521r1.
    let wanted: [UInt8] = [0, 10, 0, 10, 0, 8, 0, 0x1D, 0, 0x17, 0, 0x18, 0, 0x19]
    #expect(hello.indices.contains { hello[$0...].starts(with: wanted) })
    // The extension post_handshake_auth (section 4.2.6), which is empty.
    #expect(!hello.indices.contains { hello[$0...].starts(with: [0, 49, 0, 0]) })
  }
}
