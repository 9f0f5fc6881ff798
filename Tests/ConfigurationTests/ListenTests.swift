import Configuration
import Testing

@Suite("Where the socket is")
struct ListenTests {
  @Test(
    "The default path follows the environment",
    arguments: [
      (["POSTERN_SOCKET": "/a.sock", "XDG_RUNTIME_DIR": "/run/user/1"], "/a.sock"),
      (["XDG_RUNTIME_DIR": "/run/user/1"], "/run/user/1/postern.sock"),
      (["XDG_RUNTIME_DIR": "/run/user/1/"], "/run/user/1/postern.sock"),
      (["POSTERN_SOCKET": "", "XDG_RUNTIME_DIR": ""], "/run/postern/postern.sock"),
      (["XDG_RUNTIME_DIR": "relative"], "/run/postern/postern.sock"),
      ([:], "/run/postern/postern.sock"),
    ] as [([String: String], String)])
  func defaultPath(environment: [String: String], path: String) {
    #expect(ListenConfiguration.defaultSocketPath(environment: environment) == path)
    #expect(PosternConfiguration().listen.socketPath(environment: environment) == path)
  }

  @Test("The configured path goes before the environment; a relative one begins beside the configuration")
  func configured() throws {
    let environment = ["POSTERN_SOCKET": "/a.sock"]
    #expect(
      try Fixture("listen: { path: /b.sock }").configuration().listen.socketPath(environment: environment) == "/b.sock")
    #expect(try Fixture("listen: { path: b.sock }").configuration().listen.path == "/etc/postern/b.sock")
    #expect(try Fixture("listen: { path: ./b.sock }").configuration().listen.path == "/etc/postern/b.sock")
  }

  @Test("A path of 107 bytes fits into a socket's address, one of 108 does not")
  func length() {
    let path = "/" + String(repeating: "x", count: 106)
    #expect(Fixture("listen: { path: \(path) }").problems == [])
    #expect(
      Fixture("listen: { path: \(path)x }").problems == [
        "1:17: listen.path: the path has 108 bytes; a Unix socket's path has at most 107"
      ])
  }
}
