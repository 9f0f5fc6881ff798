import CPosternCurl
import Glibc
import HTTPMessages
import PosternSupport

/// The callbacks of libcurl while it performs, always on the loop's thread.
extension Transfer {
  /// The reaction to bytes that libcurl hands over.
  enum Reception {
    /// They are taken.
    case taken
    /// They come again when libcurl resumes.
    case paused
    /// The exchange ends.
    case rejected
  }

  /// Hands `count` bytes to `body`; its return value makes libcurl continue, pause or stop.
  static func receive(
    _ bytes: UnsafeMutablePointer<CChar>?, _ count: Int, _ pointer: UnsafeMutableRawPointer?,
    _ body: (Transfer, UnsafeBufferPointer<UInt8>) -> Reception
  ) -> Int {
    guard let bytes, count > 0, let pointer else { return 0 }
    let transfer = Unmanaged<Transfer>.fromOpaque(pointer).takeUnretainedValue()
    let buffer = UnsafeRawBufferPointer(start: bytes, count: count).assumingMemoryBound(to: UInt8.self)
    return switch body(transfer, buffer) {
    case .taken: count
    case .paused: Int(CURL_WRITEFUNC_PAUSE)
    case .rejected: 0
    }
  }

  /// One header line.
  func receiveLine(_ line: UnsafeBufferPointer<UInt8>) -> Reception {
    guard acceptsAnswer() else { return .rejected }
    switch head.consume(line) {
    case .more: return .taken
    case .complete: return beginBody()
    case .malformed(let detail): return object(.protocolError, "malformed response: \(detail)")
    case .tooLarge(let detail): return object(.responseTooLarge, detail)
    }
  }

  /// A piece of the body, content codings undone.
  func receiveBody(_ bytes: UnsafeBufferPointer<UInt8>) -> Reception {
    guard mayReceive() else { return .paused }
    if isStreaming, let control = exchange?.options.control {
      guard control.takesBytes else {
        paused |= CURLPAUSE_RECV
        return .paused
      }
      streamMovedAt = clock?.monotonicNow
      control.moved(received: Int64(bytes.count))
      control.give(bytes)
      return .taken
    }
    let isCoded = !codingsToUndo.isEmpty
    guard bytes.count <= (isCoded ? CodedBody.bytesAtMost(for: maxBodyBytes) : maxPlainBytes) - body.count else {
      return rejectBody()
    }
    body.append(contentsOf: bytes)
    if !isCoded { exchange?.options.control?.moved(received: Int64(bytes.count)) }
    return .taken
  }

  /// Counts a piece of the body; false when there were too many in this iteration of the loop: they come again when the
  /// queue resumes it.
  private func mayReceive() -> Bool {
    if received.iteration != receiveQueue.iteration { received = (receiveQueue.iteration, 0) }
    received.callbacks += 1
    // HTTP/2 has a thread of its own, with a watchdog.
    guard received.callbacks > ReceiveQueue.callbacksPerIteration, !speaksHTTP2, let exchange else { return true }
    isInReceiveQueue = true
    paused |= CURLPAUSE_RECV
    receiveQueue.add(uid: uid) { [weak self, weak exchange] in
      // By then the handle may be another exchange's.
      guard let self, isInReceiveQueue, let exchange, self.exchange === exchange else { return }
      isInReceiveQueue = false
      received.callbacks = 0
      obeyControl()
    }
    return false
  }

  /// Pauses or resumes libcurl, as the control and the receive queue require.
  func obeyControl() {
    let control = exchange?.options.control
    let takesBytes = !isInReceiveQueue && control?.takesBytes != false
    let wanted = control?.isPaused == true ? CURLPAUSE_ALL : takesBytes ? CURLPAUSE_CONT : CURLPAUSE_RECV
    guard wanted != paused else { return }
    paused = wanted
    if isStreaming, wanted == CURLPAUSE_CONT { streamMovedAt = clock?.monotonicNow }
    // What libcurl has kept comes at once, inside of this call; if that fails, so does the exchange, in its own time.
    curl_easy_pause(easy, wanted)
  }

  /// How much of the request's body has gone out by now.
  static func progress(_ pointer: UnsafeMutableRawPointer?, sent: curl_off_t) -> Int32 {
    guard let pointer else { return 0 }
    Unmanaged<Transfer>.fromOpaque(pointer).takeUnretainedValue().report(sent: Int64(sent))
    return 0
  }

  func report(sent: Int64) {
    // A request that is retried on a fresh connection starts again from zero.
    guard sent > bytesReported else { return }
    exchange?.options.control?.moved(sent: sent - bytesReported)
    bytesReported = sent
  }

  /// The content codings that are undone when the body is there, as they were applied.
  var codingsToUndo: [String] {
    let codings = head.contentCodings
    return !codings.isEmpty && hasBody && shape?.mayStream == false && CodedBody.knows(codings) ? codings : []
  }

  /// The bound for bodies that libcurl decodes, in codings that were not requested: nothing else happens meanwhile.
  private static let undoneByLibcurlAtMost = 256 << 10

  private var maxPlainBytes: Int {
    head.hasContentCoding ? min(maxBodyBytes, Self.undoneByLibcurlAtMost) : maxBodyBytes
  }

  private var maxBodyBytes: Int { max(0, exchange?.options.maxBodyBytes ?? 0) }

  /// Beyond it memory is only taken as bytes arrive, whatever the peer declares.
  private static let reservedAtMost = 4 << 20

  private func beginBody() -> Reception {
    guard hasBody else { return .taken }
    guard settlesCodings() else { return object(.protocolError, "content codings that were not requested") }
    if let exchange, exchange.options.control?.begins(responseHead(from: exchange.request.url)) == true {
      let weight = CodedStreams.weight(of: head.contentCodings)
      guard weight == 0 || codedStreams.begin(weight, of: uid) else {
        return object(.responseTooLarge, "too many of this user's streams are compressed, which was not requested")
      }
      streamWeight = weight
      isStreaming = true
      streamMovedAt = clock?.monotonicNow
      return .taken
    }
    guard let length = head.contentLength, !head.hasContentCoding || !codingsToUndo.isEmpty else { return .taken }
    guard length <= (head.hasContentCoding ? CodedBody.bytesAtMost(for: maxBodyBytes) : maxBodyBytes) else {
      return rejectBody()
    }
    body.reserveCapacity(min(length, Self.reservedAtMost))
    return .taken
  }

  /// Has libcurl undo what is not undone here; false when it must not. Of brotli and Zstandard one alone: a few of
  /// their bytes can be any number of bytes that a second coding makes nothing of.
  private func settlesCodings() -> Bool {
    guard head.hasContentCoding, codingsToUndo.isEmpty else { return true }
    guard head.contentCodings.count == 1 || CodedBody.knows(head.contentCodings) else { return false }
    guard shape?.mayStream == false else { return true }
    return CurlLibrary.undoesCodingsLate && postern_curl_set_long(easy, CURLOPT_HTTP_CONTENT_DECODING, 1) == CURLE_OK
  }

  /// Whether this response has a body by HTTP's rules (RFC 9110 section 6.4.1).
  var hasBody: Bool {
    exchange?.request.method != "HEAD" && head.status != 204 && head.status != 304
  }

  private func rejectBody() -> Reception {
    object(.responseTooLarge, "the body is larger than \(maxBodyBytes) bytes")
  }

  func object(_ code: TransportError.Code, _ detail: String) -> Reception {
    forbidReuse()
    receptionError = ReceptionError(code: code, detail: detail)
    return .rejected
  }
}
