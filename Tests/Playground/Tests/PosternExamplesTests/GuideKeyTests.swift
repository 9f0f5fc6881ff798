import Foundation
import PosternExamples
import PosternKit
import Testing

/// The configurations of the Swift guide that need keys: pins and encrypted bodies.
@Suite("The Swift guide's keys", .timeLimit(.minutes(3)))
struct GuideKeyTests {
  // RFC 7517 appendix A.2 and RFC 7515 appendix A.3: keys that everybody knows.
  private static let server: JSONObject = [
    "kty": "EC", "crv": "P-256", "x": "MKBCTNIcKUSDii11ySs3526iDZ8AiTo7Tu6KPAqv7D4",
    "y": "4Etl6SRW2YiLUrN5vfvVHuhp7x8PxltmWWlbbM4IFyM", "d": "870MB6gfuTJ4HtUnUvYMyJpr5eUZNP4Bk43bVdj3eAE",
  ]
  private static let program: JSONObject = [
    "kty": "EC", "crv": "P-256", "x": "f83OJ3D2xF1Bg8vub9tLe1gHMzV76e8Tus9uPHvRVEU",
    "y": "x_FEzRu9m36HLN_tue659LNpXW6pCyStikYjKIWI5a0", "d": "jpsQnnGQmL-YBIffH1136cspYG6-0iY7X1fCE9-E9LI",
  ]

  /// The public half of a key.
  private static func published(_ key: JSONObject) -> JSONObject {
    var key = key
    key["d"] = nil
    return key
  }

  @Test("a transfer is encrypted to the server's key and its answer to the program's: catches a body in the clear")
  func payload() async throws {
    let folder = try TemporaryFolder()
    defer { withExtendedLifetime(folder) {} }
    let recipient = try folder.write(JSONWriter().string(.object(Self.published(Self.server))), to: "recipient.jwk")
    let decryption = try folder.write(JSONWriter().string(.object(Self.program)), to: "decryption.jwk")
    func change(_ configuration: inout JSONObject, _ baseURL: String) {
      var resources = configuration["resources"]?.objectValue ?? [:]
      resources["payments"] = [
        "baseUrl": .string("\(baseURL)/open/"), "auth": "none",
        "payloadEncryption": ["recipientKeyFile": .string(recipient), "decryptionKeyFile": .string(decryption)],
      ]
      configuration["resources"] = .object(resources)
    }
    try await Shop.atPlayground(change) { shop, user in
      let keys: JSONValue = ["key": .object(Self.server), "recipient": .object(Self.published(Self.program))]
      try await user.control("payloadEncryption", keys)
      let echo = try await shop.transfer()
      #expect(echo["body"] == #"{"amount":10}"# && echo["jose"]?["enc"] == "A256GCM")
      try await user.control("payloadEncryption", ["answers": "clear"])
      let error = await #expect(throws: ResourceError.self) { try await shop.transfer() }
      #expect(error?.code == .payloadEncryptionFailed)
    }
  }

  @Test("a pinned server is trusted by its key, another key is pin_mismatch: catches a pin without effect")
  func pins() async throws {
    let server = try PinnedServer()
    defer { withExtendedLifetime(server) {} }
    func postern(_ pin: String) async throws -> Postern {
      try await Postern(configuration: [
        "resources": [
          "time": [
            "baseUrl": .string(server.url), "auth": "none",
            "tls": ["caFile": .string(server.certificate), "pins": [.string(pin)]],
          ]
        ],
        "hardening": ["pinsRequired": true],
      ])
    }
    let trusting = try await postern(server.pin)
    #expect(try await trusting.fetch("").status == 200)
    await trusting.close()
    let other = try await postern("sha256/AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA=")
    let error = await #expect(throws: ResourceError.self) { try await other.fetch("") }
    #expect(error?.code == .pinMismatch && error?.outcome == .notSent)
    await other.close()
  }

  @Test("with pinsRequired a resource without pins is a mistake in the configuration")
  func pinsRequired() async throws {
    let error = await #expect(throws: ConfigurationProblems.self) {
      try await Postern(configuration: [
        "resources": ["time": ["baseUrl": "https://time.test/", "auth": "none"]], "hardening": ["pinsRequired": true],
      ])
    }
    #expect(error?.problems.map(\.keyPath).contains { $0.contains("resources.time") } == true)
  }
}

/// A directory for one test, removed with it.
private final class TemporaryFolder {
  let path: String

  init() throws {
    path = FileManager.default.temporaryDirectory.appendingPathComponent("postern-guide-\(UUID().uuidString)").path
    try FileManager.default.createDirectory(
      atPath: path, withIntermediateDirectories: false, attributes: [.posixPermissions: 0o700])
  }

  deinit { try? FileManager.default.removeItem(atPath: path) }

  /// Writes a file that only its user may read, and returns its path.
  func write(_ text: String, to name: String) throws -> String {
    let file = "\(path)/\(name)"
    guard
      FileManager.default.createFile(
        atPath: file, contents: Data(text.utf8), attributes: [.posixPermissions: 0o600])
    else { throw PinnedServer.Failure(output: file) }
    return file
  }
}

/// OpenSSL's own server with a certificate for 127.0.0.1, as long as this value lives.
private final class PinnedServer {
  struct Failure: Error { let output: String }

  let url: String
  let certificate: String
  let pin: String
  private let folder: TemporaryFolder
  private let process = Process()

  init() throws {
    folder = try TemporaryFolder()
    certificate = "\(folder.path)/server.pem"
    let key = "\(folder.path)/server.key"
    _ = try Self.shell(
      """
      openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -days 2 -subj /CN=time \
        -addext subjectAltName=IP:127.0.0.1 -keyout "$0" -out "$1" 2>/dev/null
      """, key, certificate)
    pin =
      "sha256/"
      + (try Self.shell(
        """
        openssl x509 -in "$0" -noout -pubkey | openssl pkey -pubin -outform DER | openssl dgst -sha256 -binary | base64
        """, certificate)).trimmingCharacters(in: .whitespacesAndNewlines)
    process.executableURL = URL(fileURLWithPath: "/bin/sh")
    // It lives as long as its folder and this process. It may have inherited a mask that blocks every signal but one.
    let script = """
      openssl s_server -accept 127.0.0.1:0 -www -cert "$0/server.pem" -key "$0/server.key" &
      while [ -e "$0" ] && kill -0 "$1" && kill -0 $!; do sleep 0.1; done
      kill -9 $!
      """
    process.arguments = ["-c", script, folder.path, "\(getpid())"]
    let output = Pipe()
    process.standardOutput = output
    process.standardError = FileHandle.nullDevice
    process.standardInput = FileHandle.nullDevice
    try process.run()
    // "ACCEPT 127.0.0.1:PORT"
    var text = ""
    while !text.contains("ACCEPT") || !text.hasSuffix("\n") {
      let piece = output.fileHandleForReading.availableData
      guard !piece.isEmpty else { throw Failure(output: text) }
      text += String(decoding: piece, as: UTF8.self)
    }
    let port = text.split(whereSeparator: \.isNewline).last?.split(separator: ":").last.map(String.init) ?? ""
    url = "https://127.0.0.1:\(port)/"
  }

  private static func shell(_ script: String, _ arguments: String...) throws -> String {
    let process = Process()
    process.executableURL = URL(fileURLWithPath: "/bin/sh")
    process.arguments = ["-c", script] + arguments
    let output = Pipe()
    process.standardOutput = output
    try process.run()
    let text = String(decoding: output.fileHandleForReading.readDataToEndOfFile(), as: UTF8.self)
    process.waitUntilExit()
    guard process.terminationStatus == 0 else { throw Failure(output: text) }
    return text
  }
}
