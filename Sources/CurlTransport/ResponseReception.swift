import CPosternCurl
import HTTPMessages
import PosternSupport

/// Takes the response of one exchange as libcurl hands it over: head and body, within their limits, the body kept or
/// handed on in pieces.
///
/// libcurl's callbacks come one after the other on the loop's thread, so what they change is not checked for exclusive
/// access, which would be done for each line and each piece.
final class ResponseReception {
  /// Why a callback made libcurl stop.
  enum Fault {
    /// The transport does not accept the response, or its connection.
    case rejected(TransportError.Code, detail: String, limit: TransportError.Limit?)
    /// The response was sent before a byte of the request had arrived.
    case earlyResponse
    /// The response is the proxy's.
    case proxyRejection(TransportError)
  }

  /// A body that is handed on in pieces instead of being kept.
  private struct StreamedBody {
    /// Its content coding, where it has one that is undone here.
    var coding: CodedStream?
    /// Whether libcurl undoes its content coding.
    let isUndoneByLibcurl: Bool
    /// When something of it came last, or could come again.
    var movedAt: MonotonicInstant
    /// Whether the receive queue has resumed it for a step of its coding.
    var mayDecode = false
  }

  /// The reaction to bytes that libcurl hands over.
  private enum Reaction {
    /// They are taken.
    case taken
    /// They come again when libcurl resumes.
    case paused
    /// The exchange ends.
    case rejected
  }

  private let handle: EasyHandle
  private let resources: LoopResources
  /// The exchange whose response it is.
  @exclusivity(unchecked) private(set) var exchange: Exchange?
  /// Where in the connection's stream the request begins, until a response begins.
  @exclusivity(unchecked) var requestMark: RequestMark?
  @exclusivity(unchecked) private(set) var head: ResponseHead
  @exclusivity(unchecked) private(set) var body: [UInt8] = []
  /// The content codings that are undone, by whom and whenever, as they were applied.
  @exclusivity(unchecked) private var codings: [String] = []
  /// The content codings that are undone when the body is there, as they were applied.
  @exclusivity(unchecked) private(set) var codingsToUndo: [String] = []
  @exclusivity(unchecked) private var stream: StreamedBody?
  @exclusivity(unchecked) private var flow = ReceiveFlow()
  @exclusivity(unchecked) private(set) var fault: Fault?

  init(_ handle: EasyHandle, _ resources: LoopResources, limits: ResponseHead.Limits) {
    self.handle = handle
    self.resources = resources
    head = ResponseHead(limits: limits)
  }

  /// Before libcurl gets `exchange`.
  func prepare(for exchange: Exchange) {
    self.exchange = exchange
    head.keepsOctets = exchange.request.isForwarded
  }

  /// Releases the exchange, while libcurl still works on the handle.
  func abandon() { exchange = nil }

  /// After an exchange; libcurl must not be working on the handle any more.
  func reset() {
    if stream?.isUndoneByLibcurl == true { resources.libcurlDecodings.remove(uid) }
    exchange = nil
    requestMark = nil
    head.reset()
    body = []
    codings = []
    codingsToUndo = []
    stream = nil
    flow = ReceiveFlow()
    fault = nil
  }

  /// The uid for which the exchange is made.
  var uid: UInt32 { exchange?.options.peerID.uid ?? PeerID.process.uid }

  /// When something of a body in pieces came last, or could come again; nil for other bodies.
  var streamMovedAt: MonotonicInstant? { stream?.movedAt }

  /// The exchange fails, and its connection is not used any more.
  func reject(_ code: TransportError.Code, _ detail: String, limit: TransportError.Limit? = nil) {
    handle.forbidReuse()
    fault = .rejected(code, detail: detail, limit: limit)
  }

  // MARK: - libcurl's callbacks

  func attach(in settings: inout Settings) {
    let this = Unmanaged.passUnretained(self).toOpaque()
    settings.set(CURLOPT_WRITEDATA, pointer: this)
    settings.setSink(CURLOPT_WRITEFUNCTION) { ResponseReception.receive($0, $1 * $2, $3) { $0.receiveBody($1) } }
    settings.set(CURLOPT_HEADERDATA, pointer: this)
    settings.setSink(CURLOPT_HEADERFUNCTION) { ResponseReception.receive($0, $1 * $2, $3) { $0.receiveLine($1) } }
  }

  /// Hands `count` bytes to `body`; its return value makes libcurl continue, pause or stop.
  private static func receive(
    _ bytes: UnsafeMutablePointer<CChar>?, _ count: Int, _ pointer: UnsafeMutableRawPointer?,
    _ body: (ResponseReception, UnsafeBufferPointer<UInt8>) -> Reaction
  ) -> Int {
    guard let bytes, count > 0, let pointer else { return 0 }
    let reception = Unmanaged<ResponseReception>.fromOpaque(pointer).takeUnretainedValue()
    let buffer = UnsafeRawBufferPointer(start: bytes, count: count).assumingMemoryBound(to: UInt8.self)
    return switch body(reception, buffer) {
    case .taken: count
    case .paused: Int(CURL_WRITEFUNC_PAUSE)
    case .rejected: 0
    }
  }

  // MARK: - Head

  /// One header line.
  private func receiveLine(_ line: UnsafeBufferPointer<UInt8>) -> Reaction {
    if let mark = requestMark {
      requestMark = nil
      guard mark.hasArrived else {
        fault = .earlyResponse
        return .rejected
      }
    }
    switch head.consume(line) {
    case .more: return .taken
    case .complete: return beginBody()
    case .malformed(let detail): return rejected(.protocolError, "malformed response: \(detail)")
    case .tooLarge(let detail): return rejected(.responseTooLarge, detail)
    }
  }

  /// Whether this response has a body by HTTP's rules (RFC 9110 section 6.4.1).
  private var hasBody: Bool {
    exchange?.request.method != "HEAD" && head.status != 204 && head.status != 304
  }

  /// The head of the response, before its body.
  private func responseHead(from url: HTTPURL) -> HTTPResponseHead {
    HTTPResponseHead(status: head.status, reason: head.reason, url: url, fields: fields)
  }

  /// The response's fields, without those of a content coding, which is undone.
  var fields: HTTPFields {
    var lines = head.framing.withoutUploadCoding(head.lines)
    if !codings.isEmpty {
      lines.removeAll {
        FieldSyntax.isName($0.name.utf8, "content-encoding") || FieldSyntax.isName($0.name.utf8, "content-length")
      }
    }
    return HTTPFields(lines)
  }

  // MARK: - Body

  /// The bound for bodies that libcurl decodes, in codings that were not requested: nothing else happens meanwhile.
  private static let undoneByLibcurlAtMost = 256 << 10
  private static let unrequestedCodings = "content codings that were not requested"
  /// Beyond it memory is only taken as bytes arrive, whatever the peer declares.
  private static let reservedAtMost = 4 << 20

  private var maxBodyBytes: Int { max(0, exchange?.options.maxBodyBytes ?? 0) }

  /// The most bytes that libcurl may hand over.
  private var maxReceivedBytes: Int {
    if !codingsToUndo.isEmpty { return CodedBody.bytesAtMost(for: maxBodyBytes) }
    return !codings.isEmpty ? min(maxBodyBytes, Self.undoneByLibcurlAtMost) : maxBodyBytes
  }

  private func beginBody() -> Reaction {
    endSending()
    if let proxy = handle.shape?.proxy, head.status == 407, handle.shape?.isSecure == false {
      handle.forbidReuse()
      fault = .proxyRejection(ProxyFailure.rejected(proxy))
      return .rejected
    }
    guard hasBody else { return .taken }
    codings = codingsToBeUndone
    guard codings.count <= BodyFraming.maxContentCodings else {
      return rejected(.responseTooLarge, "more than \(BodyFraming.maxContentCodings) content codings")
    }
    guard canUndo(codings) else { return rejected(.protocolError, Self.unrequestedCodings) }
    // The head is made where a body may be streamed only.
    if let exchange, let control = exchange.options.control, control.takesBodies,
      control.begins(responseHead(from: exchange.request.shownURL ?? exchange.request.url))
    {
      resources.keptBodies.add(control)
      return beginStream(codings)
    }
    if CodedBody.knows(codings) { codingsToUndo = codings }
    guard let length = head.framing.contentLength, codings.isEmpty || !codingsToUndo.isEmpty else { return .taken }
    guard length <= maxReceivedBytes else { return rejectBody() }
    body.reserveCapacity(min(length, Self.reservedAtMost))
    return .taken
  }

  /// libcurl sends nothing more after such a response. While it waits for the request's body, it waits for that before
  /// it ends the exchange.
  private func endSending() {
    guard head.status >= 300 else { return }
    flow.endSending()
    obeyControl()
  }

  /// The content codings of the body, unless they are the representation's own matter: where it is passed on as it is,
  /// where only a part of it comes, and where one of them is not known.
  private var codingsToBeUndone: [String] {
    let codings = head.framing.contentCodings
    guard head.framing.hasContentCoding, exchange?.request.keepsCodings != true, head.status != 206,
      codings.allSatisfy({ CodedBody.knows([$0]) || CurlLibrary.decodes($0) })
    else { return [] }
    return codings
  }

  private func beginStream(_ codings: [String]) -> Reaction {
    let coding = CodedStream(codings)
    guard coding != nil || codings.count < 2 else { return rejected(.protocolError, Self.unrequestedCodings) }
    let isUndoneByLibcurl = coding == nil && !codings.isEmpty
    guard !isUndoneByLibcurl || resources.libcurlDecodings.insert(uid) else {
      return rejected(.responseTooLarge, "another of this user's streams is compressed, which was not requested")
    }
    stream = StreamedBody(
      coding: coding, isUndoneByLibcurl: isUndoneByLibcurl, movedAt: resources.clock.monotonicNow)
    return .taken
  }

  /// Whether `codings` can be undone; has libcurl do it where it is not done here. Of brotli and Zstandard one alone: a
  /// few of their bytes can be any number of bytes that a second coding makes nothing of.
  private func canUndo(_ codings: [String]) -> Bool {
    if CodedBody.knows(codings) { return true }
    return codings.count == 1 && CurlLibrary.undoesCodingsLate
      && postern_curl_set_long(handle.pointer, CURLOPT_HTTP_CONTENT_DECODING, 1) == CURLE_OK
  }

  /// A piece of the body, content codings undone.
  private func receiveBody(_ bytes: UnsafeBufferPointer<UInt8>) -> Reaction {
    guard mayReceive() else { return pausedInQueue() }
    if stream != nil, let control = exchange?.options.control { return streamBody(bytes, to: control) }
    guard bytes.count <= maxReceivedBytes - body.count else { return rejectBody() }
    body.append(contentsOf: bytes)
    if codingsToUndo.isEmpty { exchange?.options.control?.moved(received: Int64(bytes.count)) }
    return .taken
  }

  /// Hands a piece of a stream on. A content coding is undone only when the queue has resumed the stream, a step each
  /// time: the uids share that time.
  private func streamBody(_ bytes: UnsafeBufferPointer<UInt8>, to control: TransferControl) -> Reaction {
    guard control.takesBytes else {
      flow.pause()
      return .paused
    }
    if let stream, stream.coding != nil, !stream.mayDecode { return pausedInQueue() }
    stream?.mayDecode = false
    stream?.movedAt = resources.clock.monotonicNow
    defer { resources.keptBodies.add(control) }
    switch stream?.coding?.undo(bytes, give: { control.keep($0) }) {
    case .taken: return .taken
    case .more: return pausedInQueue()
    case .broken: return rejected(.protocolError, "the body's content coding cannot be undone")
    case nil:
      control.keep(bytes)
      return .taken
    }
  }

  /// Counts a piece of the body; false when there were too many in this iteration of the loop: they come again when the
  /// queue resumes it.
  private func mayReceive() -> Bool {
    // HTTP/2 has a thread of its own, with a watchdog.
    flow.count(in: resources.receiveQueue.iteration) || handle.speaksHTTP2
  }

  /// They come again when the queue resumes the transfer.
  private func pausedInQueue() -> Reaction {
    guard let exchange else { return .rejected }
    flow.enterQueue()
    resources.receiveQueue.add(uid: uid) { [weak self, weak exchange] in
      // By then the handle may be another exchange's.
      guard let self, flow.isQueued, let exchange, self.exchange === exchange else { return }
      flow.leaveQueue()
      stream?.mayDecode = true
      obeyControl()
      stream?.mayDecode = false
    }
    return .paused
  }

  /// libcurl waits for more of the request's body.
  func pauseSending() { flow.pauseSending() }

  /// Pauses or resumes libcurl, as the control and the receive queue require.
  func obeyControl() {
    guard let directions = flow.change(for: exchange?.options.control) else { return }
    if directions == CURLPAUSE_CONT { stream?.movedAt = resources.clock.monotonicNow }
    // What libcurl has kept comes at once, inside of this call; if that fails, so does the exchange.
    if curl_easy_pause(handle.pointer, directions) != CURLE_OK { resources.receiveQueue.hasFailed = true }
  }

  /// Whether the body has the length that was declared. libcurl looks at that itself over HTTP/1.1; over HTTP/2 it
  /// takes a stream that the server has reset without an error for complete. A content coding marks its own end.
  var isBodyComplete: Bool {
    guard stream?.coding?.isComplete != false else { return false }
    guard hasBody, !head.framing.isChunked, let length = head.framing.contentLength else { return true }
    // Before content codings are undone.
    return handle.offset(CURLINFO_SIZE_DOWNLOAD_T) == Int64(length)
  }

  private func rejectBody() -> Reaction {
    rejected(.responseTooLarge, "the body is larger than \(maxBodyBytes) bytes", limit: .bodySize)
  }

  private func rejected(
    _ code: TransportError.Code, _ detail: String, limit: TransportError.Limit? = nil
  ) -> Reaction {
    reject(code, detail, limit: limit)
    return .rejected
  }
}
