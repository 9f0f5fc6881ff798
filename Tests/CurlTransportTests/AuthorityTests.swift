import Foundation
import HTTPMessages
import Testing

@testable import CurlTransport

@Suite("TLS: files of authorities", .timeLimit(.minutes(3)))
struct AuthorityTests {
  private let servers: TLSServers
  private let folder: String

  init() throws {
    servers = try TLSServers.shared.get()
    folder = FileManager.default.temporaryDirectory.appendingPathComponent(UUID().uuidString).path
    try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
  }

  private func put(_ text: String, _ name: String) throws -> String {
    let path = "\(folder)/\(name)"
    try text.write(toFile: path, atomically: true, encoding: .utf8)
    return path
  }

  private var authority: String {
    get throws { try String(contentsOfFile: servers.certificates.authority, encoding: .utf8) }
  }

  @Test("a file is parsed again though nothing has changed, or is not after a change")
  func parsedOnce() throws {
    defer { try? FileManager.default.removeItem(atPath: folder) }
    let files = AuthorityFiles(report: nil)
    let path = try put(authority, "own.pem")
    let first = files.authorities(path)
    #expect(first.loaded != nil)
    #expect(files.authorities(try put(authority, "other.pem")).loaded !== first.loaded)
    #expect(files.authorities(path).loaded === first.loaded)
    _ = try put("garbage", "own.pem")
    #expect(files.authorities(path).loaded === first.loaded)
    _ = try put(authority, "own.pem")
    let third = files.authorities(path)
    #expect(third.loaded != nil && third.loaded !== first.loaded)
    #expect(files.authorities(try put("garbage", "broken.pem")).loaded == nil)
  }

  @Test("what libcurl reads in place of the file is more than the first of its authorities")
  func first() throws {
    defer { try? FileManager.default.removeItem(atPath: folder) }
    let other = try String(contentsOfFile: servers.certificates.otherAuthority, encoding: .utf8)
    let both = try #require(LoadedAuthorities(Array("# comment\n\(authority)\(other)".utf8)))
    #expect(String(decoding: both.first, as: UTF8.self) == (try authority))
  }

  /// The number of bytes that this process has read so far, from files and sockets.
  private static func bytesRead() throws -> Int {
    let text = try String(contentsOfFile: "/proc/self/io", encoding: .utf8)
    let line = text.split(separator: "\n").first { $0.hasPrefix("rchar: ") }
    return try #require(line.flatMap { Int($0.dropFirst(7)) })
  }

  @Test("connections that trust different files in turn have them read each time")
  func inTurn() async throws {
    defer { try? FileManager.default.removeItem(atPath: folder) }
    let comment = String(repeating: String(repeating: "#", count: 63) + "\n", count: 1 << 14)
    let paths = try [put(comment + authority, "a.pem"), put(comment + authority, "b.pem")]
    let transport = try CurlTransport(configuration: .testing())
    defer { transport.close() }
    let before = try Self.bytesRead()
    for index in 0..<16 {
      var options = TransferOptions(to: ServerAccess(tls: TLSSettings(caFile: paths[index % 2])))
      options.reusesConnections = false
      #expect(try await transport.send(servers.url(.old), options: options).status == 200)
    }
    // A mebibyte each; other tests read little at the same time.
    #expect(try Self.bytesRead() - before < 8 << 20)
  }
}
