import HTTPMessages
import Testing

@testable import ResourceAccess

@Suite("A resource server for callers with restrictions of their own")
struct RestrictedServerTests {
  private let server: ResourceServer

  init() throws {
    var server = ResourceServer(
      name: "orders", baseURL: try HTTPURL("https://api.example.com/"), authentication: .none,
      reservedCookies: ["sso"])
    server.allowedHeaders = ["X-Original-URL"]
    self.server = server
  }

  @Test("reserves the cookie and allows no header beyond the usual ones")
  func restrictions() {
    let restricted = server.restricting(cookie: "other", allowsHeaders: false)
    #expect(restricted.reservedCookies == ["sso", "other"])
    #expect(restricted.allowedHeaders == [])
    #expect(server.restricting(cookie: nil, allowsHeaders: false).reservedCookies == ["sso"])
    #expect(server.restricting(cookie: "other", allowsHeaders: true).allowedHeaders == ["X-Original-URL"])
  }

  @Test("prepares its rules once for each restriction")
  func rules() {
    let first = server.restricting(cookie: "other", allowsHeaders: false).prepared
    #expect(server.restricting(cookie: "other", allowsHeaders: false).prepared === first)
    #expect(server.restricting(cookie: "third", allowsHeaders: false).prepared !== first)
  }

  @Test("is the server itself where nothing more is restricted")
  func unrestricted() {
    #expect(server.restricting(cookie: "sso", allowsHeaders: true).prepared === server.prepared)
    #expect(server.restricting(cookie: nil, allowsHeaders: true).prepared === server.prepared)
  }

  @Test("keeps the authentication that a call has chosen")
  func authentication() {
    var chosen = server
    chosen.authentication = .clientCredentials
    #expect(chosen.restricting(cookie: "other", allowsHeaders: true).authentication == .clientCredentials)
  }
}
