import Glibc

/// One accepted connection; used by its own thread.
final class RawConnection {
  let index: Int
  private let descriptor: Int32
  private let server: RawServer
  private var buffer: [UInt8] = []
  private var isClosed = false

  init(descriptor: Int32, index: Int, server: RawServer) {
    self.descriptor = descriptor
    self.index = index
    self.server = server
  }

  /// The next whole request, bodies by Content-Length; nil at the end of the connection.
  func readRequest() -> RawRequest? {
    while true {
      if let request = RawRequest(taking: &buffer) {
        server.record(request)
        return request
      }
      guard readMore() else { return nil }
    }
  }

  /// The target of the next request, whose body is left to be read as one; nil at the end of the connection.
  func readTargetIgnoringBody() -> String? {
    while true {
      buffer = Array(buffer.drop { $0 == 13 || $0 == 10 })
      let text = String(decoding: buffer, as: UTF8.self)
      if let end = text.utf8.firstRange(of: "\r\n\r\n".utf8) {
        buffer.removeFirst(text.utf8.distance(from: text.startIndex, to: end.upperBound))
        return text.split(separator: " ").dropFirst().first.map(String.init)
      }
      guard readMore() else { return nil }
    }
  }

  /// The next record of TLS; nil at the end of the connection.
  func readRecord() -> [UInt8]? {
    while buffer.count < 5 || buffer.count < 5 + Int(buffer[3]) << 8 + Int(buffer[4]) {
      guard readMore() else { return nil }
    }
    let count = 5 + Int(buffer[3]) << 8 + Int(buffer[4])
    defer { buffer.removeFirst(count) }
    return Array(buffer[..<count])
  }

  /// Answers every request with what `answer` returns, until the peer leaves.
  func serve(_ answer: (RawRequest) -> String) {
    while let request = readRequest() {
      guard send(answer(request)) else { return }
    }
  }

  @discardableResult
  func send(_ text: String) -> Bool { send(Array(text.utf8)) }

  /// False when the peer has gone.
  @discardableResult
  func send(_ bytes: [UInt8]) -> Bool {
    var offset = 0
    while offset < bytes.count {
      let count = bytes.withUnsafeBytes {
        Glibc.send(descriptor, $0.baseAddress! + offset, bytes.count - offset, Int32(MSG_NOSIGNAL))
      }
      if count < 0 && errno == EINTR { continue }
      guard count > 0 else { return false }
      offset += count
    }
    return true
  }

  /// Returns when the peer's kernel has all that was sent: what the peer does from now on, it does with that waiting
  /// for it.
  func waitForDelivery() {
    var queued: Int32 = 1
    while ioctl(descriptor, UInt(TIOCOUTQ), &queued) == 0, queued > 0 { usleep(50) }
  }

  /// Waits until the peer closes; what it sends is thrown away.
  func waitForPeer() {
    while readMore() { buffer.removeAll(keepingCapacity: true) }
  }

  /// Closes with RST instead of FIN.
  func reset() {
    var option = linger(l_onoff: 1, l_linger: 0)
    setsockopt(descriptor, SOL_SOCKET, SO_LINGER, &option, socklen_t(MemoryLayout<linger>.size))
    // Half of the work: the rest happens when the server closes the descriptor.
    shutdownOnClose = false
  }

  private var shutdownOnClose = true

  /// Called by the server with its lock held, so that no other thread uses a descriptor number that is free again.
  func close() {
    guard !isClosed else { return }
    isClosed = true
    if shutdownOnClose { drainAndShutDown() }
    Glibc.close(descriptor)
  }

  /// Unread bytes would turn the close into a reset.
  private func drainAndShutDown() {
    shutdown(descriptor, Int32(SHUT_WR))
    var scrap = [UInt8](repeating: 0, count: 4096)
    while recv(descriptor, &scrap, scrap.count, Int32(MSG_DONTWAIT)) > 0 {}
  }

  private func readMore() -> Bool {
    var chunk = [UInt8](repeating: 0, count: 65536)
    while true {
      let count = recv(descriptor, &chunk, chunk.count, 0)
      if count < 0 && errno == EINTR { continue }
      guard count > 0 else { return false }
      buffer.append(contentsOf: chunk[..<count])
      return true
    }
  }
}
