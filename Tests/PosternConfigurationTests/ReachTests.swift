import PosternSupport
import Testing

@testable import PosternConfiguration

@Suite("What a configuration leads to is noted while it is read")
struct ReachTests {
  private static let yaml = """
    issuers:
      corp: { issuer: "https://corp.example:8443/realm", clientId: a, clientSecretFile: secret, clientAuth: client_secret_basic }
    resources:
      near: { baseUrl: "http://127.0.0.1:8080/", auth: none }
      plain: { baseUrl: "http://127.0.0.1/", auth: none }
      far: { baseUrl: "https://far.example/", auth: none, additionalOrigins: ["https://more.example:444"] }
    store: { kind: redis, keyFile: key, redis: { url: "rediss://cache/0", caFile: ca.pem } }
    telemetry: { otlp: { endpoint: "http://127.0.0.1:4318/v1/traces" } }
    validation: { jwksOrigins: ["https://keys.example:4443"] }
    development: { plainHTTPOnLoopback: true }
    """

  private static let key = "0123456789abcdef0123456789abcdef"

  @Test("a port of some URL is forgotten, or one is there that no URL has")
  func ports() throws {
    let loader = ConfigurationLoader(readFile: { path, _ in
      .success(ConfigurationFile(bytes: Array((path == "/c/postern.yaml" ? Self.yaml : Self.key).utf8)))
    })
    let reach = try loader.load(path: "/c/postern.yaml", environment: [:]).reach
    #expect(Set(reach.ports.keys) == [8443, 8080, 80, 443, 444, 6379, 4318, 4443])
    #expect(reach.ports[8443] == "issuers.corp.issuer" && reach.ports[444] == "resources.far.additionalOrigins[0]")
    #expect(reach.files == ["/c/postern.yaml", "/c/secret", "/c/key", "/c/ca.pem"])
  }

  @Test("credentials of the service manager are forgotten where they are looked for first")
  func credentials() throws {
    let loader = ConfigurationLoader(readFile: { path, _ in
      .success(ConfigurationFile(bytes: Array((path == "/c/postern.yaml" ? Self.yaml : Self.key).utf8)))
    })
    let reach = try loader.load(path: "/c/postern.yaml", environment: ["CREDENTIALS_DIRECTORY": "/run/c"]).reach
    #expect(reach.files == ["/c/postern.yaml", "/run/c/secret", "/run/c/key", "/run/c/ca.pem"])
  }

  @Test("a file that the process's own restrictions hide is reported to have wrong permissions")
  func explained() {
    let loader = ConfigurationLoader(methodNames: []) { path, failure in
      #expect(path == "/gone/postern.yaml" && failure == .notFound)
      return .outsideSandbox
    }
    #expect {
      _ = try loader.load(path: "/gone/postern.yaml", environment: [:])
    } throws: { error in
      (error as? ConfigurationProblems)?.problems.first?.message.contains("restart") == true
    }
  }

  @Test(
    "a port that is none is taken, or a protection that there is none of",
    arguments: ["connectPorts: [0]", "connectPorts: [65536]", "connectPorts: 8443", "landlock: on", "seccomp: true"])
  func rejected(line: String) {
    let loader = ConfigurationLoader(readFile: { _, _ in
      .success(ConfigurationFile(bytes: Array("hardening: { \(line) }".utf8)))
    })
    #expect(throws: ConfigurationProblems.self) { try loader.load(path: "/c/postern.yaml", environment: [:]) }
  }
}
