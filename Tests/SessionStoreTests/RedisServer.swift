import Foundation
import Glibc
import PosternSupport

/// A Redis server of our own, on a Unix socket or on a port of the loopback interface; ends with the last reference.
final class RedisServer: Sendable {
  struct Failure: Error { let log: String }

  static let password = "pass word \u{e9}\"'"

  let folder = TemporaryFolder()
  let port: UInt16
  private let process: Locked<Process>
  private let arguments: [String]

  /// `isEncrypted`: TLS on a port, with a password; otherwise a Unix socket without.
  init(isEncrypted: Bool) throws {
    var arguments = [
      "--save", "", "--appendonly", "no", "--dir", folder.path, "--daemonize", "no", "--logfile", "", "--databases",
      "8",
    ]
    if isEncrypted {
      try Self.makeCertificates(in: folder.path)
      arguments += [
        "--port", "0", "--bind", "127.0.0.1", "--tls-cert-file", "\(folder.path)/server.pem", "--tls-key-file",
        "\(folder.path)/server.key", "--tls-auth-clients", "no", "--tls-ca-cert-file",
        "\(folder.path)/ca.pem", "--requirepass", Self.password,
      ]
    } else {
      arguments += ["--port", "0", "--unixsocket", "\(folder.path)/redis.sock"]
    }
    // Another process may take the port between its choice and the server's bind.
    var attempt = 1
    while true {
      let port = isEncrypted ? try Self.freePort() : 0
      let all = arguments + (isEncrypted ? ["--tls-port", String(port)] : [])
      do {
        process = Locked(try Self.start(all))
        self.port = port
        self.arguments = all
        return
      } catch let failure as Failure where failure.log.contains("Address already in use") && attempt < 5 {
        attempt += 1
      }
    }
  }

  deinit { stop() }

  var url: String { port == 0 ? "unix://\(folder.path)/redis.sock?db=3" : "rediss://127.0.0.1:\(port)/3" }
  var authority: String { "\(folder.path)/ca.pem" }

  func stop() {
    process.withLock { process in
      // Not SIGTERM: the server inherits the signal mask of the thread that started it, which may block that.
      if process.isRunning { kill(process.processIdentifier, SIGKILL) }
      process.waitUntilExit()
    }
  }

  /// Starts again, with nothing.
  func restart() throws {
    stop()
    let started = try Self.start(arguments)
    process.withLock { $0 = started }
  }

  /// Holds the server still, without ending its connections.
  func suspend() { process.withLock { _ = kill($0.processIdentifier, SIGSTOP) } }
  func resume() { process.withLock { _ = kill($0.processIdentifier, SIGCONT) } }

  /// Runs `redis-cli` and returns what it prints.
  @discardableResult
  func cli(_ arguments: String...) throws -> String {
    let address =
      port == 0
      ? ["-s", "\(folder.path)/redis.sock"]
      : [
        "-h", "127.0.0.1", "-p", String(port), "--tls", "--cacert", authority, "--no-auth-warning", "-a", Self.password,
      ]
    return try run("/usr/bin/redis-cli", address + ["-n", "3"] + arguments)
  }

  private static func start(_ arguments: [String]) throws -> Process {
    let process = Process()
    process.executableURL = URL(fileURLWithPath: "/usr/bin/redis-server")
    process.arguments = arguments
    let output = Pipe()
    process.standardOutput = output
    process.standardError = output
    try process.run()
    // The pipe is read until the server reports that it listens, then left to fill: it prints little more.
    var log = ""
    while !log.contains("Ready to accept connections") && !log.contains("The server is now ready to accept") {
      let piece = output.fileHandleForReading.availableData
      if piece.isEmpty { throw Failure(log: log) }
      log += String(decoding: piece, as: UTF8.self)
    }
    return process
  }

  private static func freePort() throws -> UInt16 {
    let listener = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
    defer { close(listener) }
    var address = sockaddr_in()
    address.sin_family = sa_family_t(AF_INET)
    address.sin_addr.s_addr = UInt32(0x7f00_0001).bigEndian
    var length = socklen_t(MemoryLayout<sockaddr_in>.size)
    let bound = withUnsafeMutablePointer(to: &address) { pointer in
      pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
        bind(listener, $0, length) == 0 && getsockname(listener, $0, &length) == 0
      }
    }
    guard bound else { throw Failure(log: "no free port") }
    return UInt16(bigEndian: address.sin_port)
  }

  private static func makeCertificates(in folder: String) throws {
    let key = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes"]
    for name in ["ca", "other"] {
      try run(
        "/usr/bin/openssl",
        ["req", "-x509"] + key + [
          "-keyout", "\(folder)/\(name).key", "-out", "\(folder)/\(name).pem", "-subj", "/CN=Test \(name)", "-days",
          "2",
        ])
    }
    try run(
      "/usr/bin/openssl",
      ["req"] + key + [
        "-keyout", "\(folder)/server.key", "-out", "\(folder)/server.csr", "-subj", "/CN=redis", "-addext",
        "subjectAltName=IP:127.0.0.1",
      ])
    try run(
      "/usr/bin/openssl",
      [
        "x509", "-req", "-in", "\(folder)/server.csr", "-CA", "\(folder)/ca.pem", "-CAkey", "\(folder)/ca.key",
        "-CAcreateserial", "-copy_extensions", "copyall", "-days", "2", "-out", "\(folder)/server.pem",
      ])
  }
}

/// Runs a program and returns what it prints.
@discardableResult
func run(_ path: String, _ arguments: [String]) throws -> String {
  let process = Process()
  process.executableURL = URL(fileURLWithPath: path)
  process.arguments = arguments
  let output = Pipe()
  process.standardOutput = output
  process.standardError = output
  try process.run()
  let text = String(decoding: output.fileHandleForReading.readDataToEndOfFile(), as: UTF8.self)
  process.waitUntilExit()
  guard process.terminationStatus == 0 else { throw RedisServer.Failure(log: text) }
  return text
}
