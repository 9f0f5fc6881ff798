import Foundation
import Glibc

/// nginx as a TLS and HTTP/2 front of every sort, before one upstream of ours. Shared by the run's tests; ends with
/// the process.
final class TLSServers: Sendable {
  struct Failure: Error { let text: String }

  /// Started by the first test that needs it.
  static let shared = Result { try TLSServers() }

  enum Site: Int, CaseIterable {
    /// HTTP/2, certificate of authority A.
    case good
    /// HTTP/1.1 only, certificate of authority A.
    case old
    /// HTTP/2, certificate of authority B.
    case other
    /// For another name.
    case wrong
    case expired
    /// TLS 1.1 at most.
    case weak
    /// HTTP/2, closes (GOAWAY) after every ten requests.
    case brief
    /// Below an authority below A; requests a client certificate and continues without one.
    case deep
    /// As `deep`, with TLS 1.2 and HTTP/1.1.
    case deepAndOld
    /// Answers 400 without a client certificate of authority A, or with one that has expired.
    case demanding
    /// Send certificates along that belong to nothing, which cost too much: an RSA exponent of 66 bits, with TLS 1.3
    /// and 1.2; a curve given by its parameters, with both; a small curve; ten of any sort; one of more than 32 KiB.
    case costlyExponent, costlyExponentAndOld, costlyCurve, costlyCurveAndOld, otherCurve, tooMany, tooLarge
    /// Sends seven along that are in use elsewhere.
    case manySorts
  }

  let certificates: Certificates
  /// The file of nginx's errors.
  let log: String
  /// The server to which nginx passes `/upstream/…` on.
  let upstream: RawServer
  private let ports: [Int]
  private let process: Process

  private init() throws {
    let folder = FileManager.default.temporaryDirectory.appendingPathComponent("postern-tls-\(UUID().uuidString)").path
    try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
    certificates = try Certificates(in: folder)
    log = "\(folder)/error.log"
    upstream = try RawServer { $0.serveUpstream() }
    // Another process may take a port between its choice and the server's bind.
    var attempt = 1
    while true {
      let ports = try Loopback.freePorts(Site.allCases.count)
      let text = Self.configuration(certificates, folder: folder, ports: ports, upstream: upstream.port)
      try text.write(toFile: "\(folder)/nginx.conf", atomically: true, encoding: .utf8)
      do {
        process = try Self.start(in: folder)
        self.ports = ports
        return
      } catch let failure as Failure where failure.text.contains("Address already in use") && attempt < 5 {
        attempt += 1
      }
    }
  }

  private static func start(in folder: String) throws -> Process {
    let process = Process()
    process.executableURL = URL(fileURLWithPath: "/bin/sh")
    // nginx lives as long as this process, however that exits. It keeps none of its descriptors open: a reader of the
    // test's output waits for the last process that has it open. It may have inherited a mask that blocks every
    // other signal.
    let script = """
      PATH=$PATH:/usr/sbin
      nginx -p "$0" -c "$0/nginx.conf" -e "$0/error.log" &
      while kill -0 "$1" 2>/dev/null; do sleep 0.1; kill -0 $! 2>/dev/null || exit 1; done
      kill -9 $!
      wait $!
      rm -rf "$0"
      """
    process.arguments = ["-c", script, folder, "\(getpid())"]
    process.standardInput = FileHandle.nullDevice
    process.standardOutput = FileHandle.nullDevice
    process.standardError = FileHandle.nullDevice
    try process.run()
    // Written when it listens on all of its ports; a port in use would not show by whom.
    while !FileManager.default.fileExists(atPath: "\(folder)/nginx.pid") {
      guard process.isRunning else { throw Failure(text: takeLog("\(folder)/error.log")) }
      usleep(5000)
    }
    return process
  }

  func url(_ site: Site, _ path: String = "/", host: String = "127.0.0.1") -> String {
    "https://\(host):\(ports[site.rawValue])\(path)"
  }

  /// The error output of the server that has exited.
  private static func takeLog(_ path: String) -> String {
    defer { unlink(path) }
    return (try? String(contentsOfFile: path, encoding: .utf8))
      ?? "nginx is not installed (apt-get install nginx-light)"
  }

  private static func configuration(
    _ certificates: Certificates, folder: String, ports: [Int], upstream: Int
  ) -> String {
    func server(_ site: Site, _ certificate: String, http2: Bool = true, _ more: String = "") -> String {
      """
        server {
          listen 127.0.0.1:\(ports[site.rawValue]) ssl\(http2 ? " http2" : "");
          ssl_certificate \(certificates.certificate(certificate));
          ssl_certificate_key \(certificates.key(certificate));
          \(more)
          location / { return 200 "\(site) over $server_protocol with $ssl_protocol"; }
          location /tls { return 200 "$ssl_client_s_dn $ssl_session_reused $connection"; }
          location /upstream/ {
            proxy_pass http://127.0.0.1:\(upstream);
            proxy_http_version 1.1;
            proxy_set_header Connection "";
          }
          location /gzip/ { gzip on; gzip_types *; gzip_min_length 1; proxy_pass http://127.0.0.1:\(upstream); }
        }

      """
    }
    let clients = "ssl_client_certificate \(certificates.authority);"
    let temporary = ["client_body", "proxy", "fastcgi", "uwsgi", "scgi"].map { "\($0)_temp_path \(folder)/\($0);" }
    return """
      daemon off; master_process off; pid \(folder)/nginx.pid; error_log \(folder)/error.log info;
      events { worker_connections 1024; }
      http {
        access_log off; client_max_body_size 0; \(temporary.joined(separator: " "))
        ssl_protocols TLSv1.2 TLSv1.3;
      \(server(.good, "good"))\(server(.old, "good", http2: false))\(server(.other, "other"))\(server(.wrong, "wrong"))
      \(server(.expired, "expired"))
      \(server(.weak, "good", http2: false, "ssl_protocols TLSv1 TLSv1.1; ssl_ciphers DEFAULT@SECLEVEL=0;"))
      \(server(.brief, "good", "keepalive_requests 10;"))
      \(server(.deep, "chain", "ssl_verify_client optional; \(clients)"))
      \(server(.deepAndOld, "chain", http2: false, "ssl_protocols TLSv1.2; ssl_verify_client optional; \(clients)"))
      \(server(.demanding, "good", "ssl_verify_client on; \(clients)"))
      \(server(.costlyExponent, "costlyExponent"))
      \(server(.costlyExponentAndOld, "costlyExponent", "ssl_protocols TLSv1.2;"))
      \(server(.costlyCurve, "costlyCurve"))\(server(.costlyCurveAndOld, "costlyCurve", "ssl_protocols TLSv1.2;"))
      \(server(.otherCurve, "otherCurve"))\(server(.tooMany, "tooMany"))\(server(.tooLarge, "tooLarge"))
      \(server(.manySorts, "manySorts"))
      }
      """
  }
}

extension RawConnection {
  /// Echoes bodies; `/upstream/hold` never answers, `/upstream/cut` breaks off in its body.
  func serveUpstream() {
    while let request = readRequest() {
      switch request.target {
      case "/upstream/hold": return waitForPeer()
      case "/upstream/cut":
        send("HTTP/1.1 200 OK\r\nContent-Length: 1000000\r\n\r\n" + String(repeating: "x", count: 100_000))
        return
      default:
        let body = request.body.isEmpty ? Array("hello \(request.method) \(request.target)".utf8) : request.body
        send("HTTP/1.1 200 OK\r\nContent-Length: \(body.count)\r\nContent-Type: text/plain\r\nA: 1\r\nA: 2\r\n\r\n")
        guard send(body) else { return }
      }
    }
  }
}
