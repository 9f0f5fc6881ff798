import Dispatch
import Glibc

/// A plain client with blocking calls on a thread of its own, so that waiting takes no thread from the tasks of the
/// test; every wait ends after twenty seconds.
final class UnixClient: @unchecked Sendable {
  // Sendable because `buffered` is touched on `queue` only.
  private let queue = DispatchQueue(label: "UnixClient")

  let descriptor: CInt
  private var buffered: [UInt8] = []

  struct Failure: Error, Hashable {
    let call: String
    let errno: CInt
  }

  init(_ path: String) throws {
    descriptor = socket(AF_UNIX, CInt(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue), 0)
    var patience = timeval(tv_sec: 20, tv_usec: 0)
    setsockopt(descriptor, SOL_SOCKET, SO_RCVTIMEO, &patience, socklen_t(MemoryLayout<timeval>.size))
    setsockopt(descriptor, SOL_SOCKET, SO_SNDTIMEO, &patience, socklen_t(MemoryLayout<timeval>.size))
    guard Self.connect(descriptor, to: path) == 0 else {
      let reason = errno
      Glibc.close(descriptor)
      throw Failure(call: "connect", errno: reason)
    }
  }

  /// A client on a connected descriptor, which it owns.
  init(owning descriptor: CInt) { self.descriptor = descriptor }

  deinit { if isOpen { Glibc.close(descriptor) } }

  private var isOpen = true

  private func blocking<Value: Sendable>(
    _ body: @escaping @Sendable (UnixClient) throws -> Value
  ) async throws -> Value {
    try await withCheckedThrowingContinuation { continuation in
      queue.async { continuation.resume(with: Result { try body(self) }) }
    }
  }

  static func connect(_ descriptor: CInt, to path: String) -> CInt {
    var address = sockaddr_un()
    address.sun_family = sa_family_t(AF_UNIX)
    withUnsafeMutableBytes(of: &address.sun_path) { $0.copyBytes(from: path.utf8.prefix(107)) }
    return withUnsafePointer(to: &address) { pointer in
      pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
        Glibc.connect(descriptor, $0, socklen_t(MemoryLayout<sockaddr_un>.size))
      }
    }
  }

  func send(_ text: String) async throws { try await send(Array(text.utf8)) }

  func send(_ bytes: [UInt8]) async throws { try await blocking { try $0.sendNow(bytes) } }

  private func sendNow(_ bytes: [UInt8]) throws {
    var rest = bytes[...]
    while !rest.isEmpty {
      let sent = rest.withUnsafeBytes { Glibc.send(descriptor, $0.baseAddress, $0.count, CInt(MSG_NOSIGNAL)) }
      guard sent > 0 else { throw Failure(call: "send", errno: errno) }
      rest = rest.dropFirst(sent)
    }
  }

  /// Sends what the kernel takes until it has taken nothing for `milliseconds`; the number of bytes sent.
  func sendUntilStuck(_ bytes: [UInt8], milliseconds: CInt) async throws -> Int {
    try await blocking { $0.sendUntilStuckNow(bytes, milliseconds: milliseconds) }
  }

  private func sendUntilStuckNow(_ bytes: [UInt8], milliseconds: CInt) -> Int {
    var rest = bytes[...]
    while !rest.isEmpty {
      var entry = pollfd(fd: descriptor, events: Int16(POLLOUT), revents: 0)
      guard poll(&entry, 1, milliseconds) == 1, entry.revents & Int16(POLLOUT) != 0 else { break }
      let sent = rest.withUnsafeBytes {
        Glibc.send(descriptor, $0.baseAddress, $0.count, CInt(MSG_NOSIGNAL) | CInt(MSG_DONTWAIT))
      }
      if sent <= 0 { break }
      rest = rest.dropFirst(sent)
    }
    return bytes.count - rest.count
  }

  func halfClose() { shutdown(descriptor, CInt(SHUT_WR)) }

  func close() {
    isOpen = false
    Glibc.close(descriptor)
  }

  /// The next line without its line feed; nil at the end.
  func line() async throws -> String? { try await blocking { try $0.lineNow() } }

  private func lineNow() throws -> String? {
    while true {
      if let end = buffered.firstIndex(of: UInt8(ascii: "\n")) {
        defer { buffered.removeSubrange(...end) }
        return String(decoding: buffered[..<end], as: UTF8.self)
      }
      guard try fill() else { return nil }
    }
  }

  /// Exactly that many bytes, or fewer at the end.
  func bytes(_ count: Int) async throws -> [UInt8] { try await blocking { try $0.bytesNow(count) } }

  private func bytesNow(_ count: Int) throws -> [UInt8] {
    while buffered.count < count, try fill() {}
    defer { buffered.removeFirst(min(count, buffered.count)) }
    return Array(buffered.prefix(count))
  }

  /// Everything up to the end of the stream.
  func rest() async throws -> String { try await blocking { try $0.restNow() } }

  private func restNow() throws -> String {
    while try fill() {}
    defer { buffered = [] }
    return String(decoding: buffered, as: UTF8.self)
  }

  /// Reads and throws away; the number of bytes up to the end or `count`.
  func skip(_ count: Int) async throws -> Int { try await blocking { try $0.skipNow(count) } }

  private func skipNow(_ count: Int) throws -> Int {
    var skipped = min(count, buffered.count)
    buffered.removeFirst(skipped)
    while skipped < count, try fill() {
      let taken = min(count - skipped, buffered.count)
      skipped += taken
      buffered.removeFirst(taken)
    }
    return skipped
  }

  private func fill() throws -> Bool {
    let chunk = 1 << 16
    var failed: CInt = 0
    let read = [UInt8](unsafeUninitializedCapacity: chunk) { buffer, count in
      let received = recv(descriptor, buffer.baseAddress, chunk, 0)
      failed = received < 0 ? errno : 0
      count = max(0, received)
    }
    guard failed == 0 else { throw Failure(call: "recv", errno: failed) }
    buffered += read
    return !read.isEmpty
  }
}
