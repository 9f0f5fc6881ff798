import Glibc
import PosternJSON

/// HTTP/1.1 over a plain socket, written by hand so that a test sees and sends exactly its own bytes.
enum RawHTTP {
  /// An error on the client's side.
  struct Failure: Error, CustomStringConvertible {
    let description: String
    init(_ description: String) { self.description = description }
  }

  /// One answer.
  struct Response: Sendable {
    let status: Int
    let headers: [(name: String, value: String)]
    let body: [UInt8]

    /// All values of a field, in order.
    subscript(name: String) -> [String] { headers.filter { $0.name.lowercased() == name }.map(\.value) }

    /// The body as text.
    var text: String { String(decoding: body, as: UTF8.self) }

    /// The body as JSON; null when it is none.
    var json: JSONValue { (try? JSONParser().parse(body)) ?? .null }
  }

  /// Sends `bytes`, reads until the server closes or a minute is over, and returns everything.
  static func exchange(port: Int, _ bytes: [UInt8]) async throws -> [UInt8] {
    try await onOwnThread {
      let descriptor = try connect(port: port)
      defer { close(descriptor) }
      var rest = bytes[...]
      while !rest.isEmpty {
        let count = rest.withUnsafeBytes { send(descriptor, $0.baseAddress, $0.count, Int32(MSG_NOSIGNAL)) }
        // A server that has answered and closed may reject the rest; its answer is still to be read.
        if count <= 0 { break }
        rest = rest.dropFirst(count)
      }
      return try readAll(descriptor)
    }
  }

  /// Connects, sends, and hangs up after `milliseconds` without an answer.
  static func abandon(port: Int, _ text: String, onceSeen: @escaping @Sendable () -> Bool) async throws {
    try await onOwnThread {
      let descriptor = try connect(port: port)
      defer { close(descriptor) }
      _ = Array(text.utf8).withUnsafeBytes { send(descriptor, $0.baseAddress, $0.count, Int32(MSG_NOSIGNAL)) }
      var patience = 30_000
      while !onceSeen() && patience > 0 {
        usleep(1000)
        patience -= 1
      }
    }
  }

  /// The responses in `bytes`, one behind the other, interim ones included.
  static func responses(in bytes: [UInt8], toHEAD: Bool = false) throws -> [Response] {
    var rest = bytes[...]
    var responses: [Response] = []
    while !rest.isEmpty {
      guard let end = firstIndex(of: Array("\r\n\r\n".utf8), in: rest) else { throw Failure("no header block") }
      let lines = String(decoding: rest[rest.startIndex..<end], as: UTF8.self).split(separator: "\r\n")
      guard let first = lines.first, let status = first.split(separator: " ").dropFirst().first.flatMap({ Int($0) })
      else { throw Failure("no status line") }
      let headers = lines.dropFirst().map { line -> (name: String, value: String) in
        let parts = line.split(separator: ":", maxSplits: 1, omittingEmptySubsequences: false)
        return (String(parts[0]), parts.count > 1 ? String(parts[1].drop { $0 == " " }) : "")
      }
      rest = rest[(end + 4)...]
      let length = headers.first { $0.name.lowercased() == "content-length" }.flatMap { Int($0.value) }
      let isBodyless = toHEAD || status < 200 || status == 204 || status == 304
      let size = isBodyless ? 0 : min(length ?? rest.count, rest.count)
      responses.append(Response(status: status, headers: headers, body: Array(rest.prefix(size))))
      rest = rest.dropFirst(size)
    }
    return responses
  }

  private static func firstIndex(of pattern: [UInt8], in bytes: ArraySlice<UInt8>) -> Int? {
    guard bytes.count >= pattern.count else { return nil }
    return (bytes.startIndex...(bytes.endIndex - pattern.count)).first {
      bytes[$0..<$0 + pattern.count].elementsEqual(pattern)
    }
  }

  private static func connect(port: Int) throws -> Int32 {
    let descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue), 0)
    guard descriptor >= 0 else { throw Failure("no socket") }
    var patience = timeval(tv_sec: 60, tv_usec: 0)
    setsockopt(descriptor, SOL_SOCKET, SO_RCVTIMEO, &patience, socklen_t(MemoryLayout<timeval>.size))
    setsockopt(descriptor, SOL_SOCKET, SO_SNDTIMEO, &patience, socklen_t(MemoryLayout<timeval>.size))
    var address = sockaddr_in()
    address.sin_family = sa_family_t(AF_INET)
    address.sin_port = in_port_t(truncatingIfNeeded: port).bigEndian
    address.sin_addr.s_addr = in_addr_t(0x7f00_0001).bigEndian
    let status = withUnsafePointer(to: &address) { pointer in
      pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
        Glibc.connect(descriptor, $0, socklen_t(MemoryLayout<sockaddr_in>.size))
      }
    }
    guard status == 0 else {
      close(descriptor)
      throw Failure("cannot connect: \(errno)")
    }
    return descriptor
  }

  private static func readAll(_ descriptor: Int32) throws -> [UInt8] {
    var received: [UInt8] = []
    var buffer = [UInt8](repeating: 0, count: 65_536)
    while true {
      let count = recv(descriptor, &buffer, buffer.count, 0)
      if count == 0 { return received }
      if count < 0 {
        // A reset behind a complete answer is the server's way of rejecting the rest of a request.
        if errno == ECONNRESET { return received }
        throw Failure("no answer in time: \(errno)")
      }
      received += buffer[0..<count]
    }
  }
}
