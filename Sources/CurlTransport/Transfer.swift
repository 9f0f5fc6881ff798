import CPosternCurl
import HTTPMessages
import PosternSupport

/// An easy handle with everything that its exchange needs: used for one exchange after the other, by the loop's thread
/// alone, so that its numbers are not checked for exclusive access.
final class Transfer {
  let handle: EasyHandle
  let opener: SocketOpener
  let reception: ResponseReception
  let check: ConnectionCheck

  /// Its position in the loop's list.
  @exclusivity(unchecked) var position = 0
  /// The slot that is kept until the look-up ends, where the exchange has ended before.
  private(set) var keptSlot: (origin: HTTPURL.Origin, peerID: PeerID)?
  @exclusivity(unchecked) private(set) var handedOverAt = MonotonicInstant(nanoseconds: 0)
  /// The number of bytes sent that the control knows of.
  @exclusivity(unchecked) private var bytesReported: Int64 = 0

  /// Nil when libcurl has no memory.
  init?(_ resources: LoopResources, limits: ResponseHead.Limits) {
    guard let handle = EasyHandle(resources.sessions) else { return nil }
    self.handle = handle
    opener = SocketOpener(handle)
    reception = ResponseReception(handle, resources, limits: limits)
    check = ConnectionCheck(handle, opener, reception, resources.connections)
  }

  /// The transfer behind an easy handle that the loop added.
  static func of(_ easy: UnsafeMutableRawPointer) -> Transfer? {
    var pointer: UnsafeMutablePointer<CChar>?
    guard postern_curl_get_private(easy, &pointer) == CURLE_OK, let pointer else { return nil }
    return Unmanaged<Transfer>.fromOpaque(UnsafeRawPointer(pointer)).takeUnretainedValue()
  }

  var exchange: Exchange? { reception.exchange }

  /// Why the exchange does not go on over its connection.
  var discarded: DiscardedConnection? {
    if case .earlyResponse = reception.fault { return .earlyResponse }
    return check.discarded
  }

  /// How far the exchange has come.
  var outcome: TransportError.Outcome {
    if reception.head.isComplete { return .replied }
    return check.hasSent || exchange?.hasLeft == true ? .sentNoReply : .notSent
  }

  /// When the time for connecting is over.
  var connectDue: MonotonicInstant { opener.connectDue(since: handedOverAt) }

  // MARK: - The life of an exchange

  /// Sets everything for `exchange`; returns the option that libcurl rejected, if any: the handle is not usable then.
  ///
  /// - Throws: why the exchange cannot be sent, by whatever handle.
  func prepare(
    for exchange: Exchange, _ shape: RequestShape, configuration: CurlTransport.Configuration, now: MonotonicInstant
  ) throws(TransportError) -> Settings.Rejection? {
    reception.prepare(for: exchange)
    handedOverAt = now
    opener.prepare(
      for: exchange.options, milliseconds: shape.connectMilliseconds, usesProxy: shape.proxy != nil)
    return try handle.prepare(for: exchange, shape, configuration) { attach(in: &$0) }
  }

  private func attach(in settings: inout Settings) {
    let this = Unmanaged.passUnretained(self).toOpaque()
    settings.set(CURLOPT_PRIVATE, pointer: this)
    settings.set(CURLOPT_XFERINFODATA, pointer: this)
    settings.note(
      postern_curl_set_progress(settings.easy) { pointer, _, _, _, sent in
        guard let pointer else { return 0 }
        let transfer = Unmanaged<Transfer>.fromOpaque(pointer).takeUnretainedValue()
        transfer.report(sent: Int64(sent))
        // Anything but zero ends the exchange.
        return transfer.handle.way.step() ? 0 : 1
      }, CURLOPT_XFERINFOFUNCTION)
    settings.set(CURLOPT_READDATA, pointer: this)
    settings.note(
      postern_curl_set_source(settings.easy) { bytes, size, count, pointer in
        guard let bytes, let pointer else { return Int(CURL_READFUNC_ABORT) }
        let buffer = UnsafeMutableRawBufferPointer(start: bytes, count: size * count)
        return Unmanaged<Transfer>.fromOpaque(pointer).takeUnretainedValue().readBody(into: buffer)
      }, CURLOPT_READFUNCTION)
    opener.attach(in: &settings)
    reception.attach(in: &settings)
    check.attach(in: &settings)
  }

  /// Gives libcurl the next bytes of a request's body that is streamed.
  private func readBody(into buffer: UnsafeMutableRawBufferPointer) -> Int {
    switch exchange?.options.control?.takeUpload(into: buffer) {
    case .bytes(let count): return count
    case .waiting:
      reception.pauseSending()
      return Int(CURL_READFUNC_PAUSE)
    case .failed, nil: return Int(CURL_READFUNC_ABORT)
    }
  }

  /// How much of the request's body has gone out by now.
  func report(sent: Int64) {
    // A request that is retried on a fresh connection starts again from zero.
    guard sent > bytesReported else { return }
    exchange?.options.control?.moved(sent: sent - bytesReported)
    bytesReported = sent
  }

  /// Releases `exchange` and lets the look-up come to its end, for which its slot is kept.
  func abandon(_ exchange: Exchange) {
    keptSlot = (exchange.request.url.origin, exchange.options.peerID)
    opener.abandon()
    exchange.transfer = nil
    reception.abandon()
    handle.forgetBody()
  }

  /// Releases the exchange; libcurl must not be working on the handle any more.
  func reset() {
    reception.reset()
    opener.reset()
    check.reset()
    handle.reset()
    keptSlot = nil
    bytesReported = 0
  }
}

extension Transfer {
  /// The result of the exchange, after libcurl has ended it.
  func result(of code: CURLcode, now: MonotonicInstant) -> Result<HTTPResponse, TransportError> {
    let outcome = outcome
    func failure(
      _ code: TransportError.Code, _ detail: String, limit: TransportError.Limit? = nil
    ) -> Result<HTTPResponse, TransportError> {
      .failure(TransportError(code: code, outcome: outcome, detail: detail, limit: limit))
    }
    if case .proxyRejection(let error) = reception.fault { return .failure(error) }
    if case .rejected(let code, let detail, let limit) = reception.fault {
      return failure(code, detail, limit: limit)
    }
    if let discarded { return .failure(discarded.error(outcome: outcome)) }
    guard code == CURLE_OK else { return .failure(error(of: code, outcome: outcome)) }
    report(sent: handle.offset(CURLINFO_SIZE_UPLOAD_T))
    guard reception.head.isComplete else { return failure(.protocolError, "no complete response") }
    guard reception.isBodyComplete else {
      return failure(.protocolError, "the body is shorter than it was declared")
    }
    return .success(
      HTTPResponse(
        status: reception.head.status, reason: reception.head.reason, fields: reception.fields, body: reception.body,
        timing: timing(now: now)))
  }

  /// The error of an exchange that libcurl has ended with `code`.
  private func error(of code: CURLcode, outcome: TransportError.Outcome) -> TransportError {
    if opener.hasRejectedAddress, outcome == .notSent, code == CURLE_COULDNT_CONNECT {
      return SocketOpener.addressRejection
    }
    // A name is resolved with descriptors of its own, whose absence is not reported.
    if outcome == .notSent, opener.lacksDescriptor || code == CURLE_COULDNT_RESOLVE_HOST && FileDescriptors.areOut {
      return TransportError(
        code: .descriptorsOut, outcome: outcome, detail: "the sidecar has no file descriptor left")
    }
    if let failure = proxyFailure(of: code, outcome: outcome) { return failure.transportError }
    if let seen = handle.guardian?.seen, !seen.isEmpty {
      let detail = "none of the pins is a key of the server's certificate chain; its keys: \(seen)"
      return TransportError(code: .pinMismatch, outcome: outcome, detail: detail)
    }
    if let problem = handle.guardian?.problem, !problem.isEmpty {
      return TransportError(code: .tlsFailure, outcome: outcome, detail: problem)
    }
    let failure = CurlFailure(
      code: code, systemError: Int32(clamping: handle.number(CURLINFO_OS_ERRNO)), outcome: outcome,
      text: handle.failureText)
    return failure.transportError
  }

  /// The failure of an exchange whose last attempt did not get past its proxy; nil where it did, and without one.
  private func proxyFailure(of code: CURLcode, outcome: TransportError.Outcome) -> ProxyFailure? {
    guard let proxy = handle.shape?.proxy, !handle.way.isOpen else { return nil }
    var failure = ProxyFailure(
      failure: CurlFailure(
        code: code, systemError: Int32(clamping: handle.number(CURLINFO_OS_ERRNO)), outcome: outcome,
        text: handle.failureText),
      status: handle.number(CURLINFO_HTTP_CONNECTCODE), isAnonymous: proxy.isAnonymous)
    failure.isEndless = handle.way.isAnswerTooLong
    failure.certificateProblem = handle.way.certificateProblem
    return failure
  }

  private func timing(now: MonotonicInstant) -> HTTPResponse.Timing {
    let submittedAt = exchange?.submittedAt ?? handedOverAt
    let queued = handedOverAt - submittedAt
    let connected = max(handle.offset(CURLINFO_CONNECT_TIME_T), handle.offset(CURLINFO_APPCONNECT_TIME_T))
    return HTTPResponse.Timing(
      total: now - submittedAt,
      queued: queued,
      connect: handle.number(CURLINFO_NUM_CONNECTS) == 0 ? .zero : .microseconds(connected),
      firstByte: queued + .microseconds(handle.offset(CURLINFO_STARTTRANSFER_TIME_T)))
  }

  /// Adds what this exchange moved.
  func addTraffic(to counts: inout CurlTransport.Statistics) {
    let connects = handle.number(CURLINFO_NUM_CONNECTS)
    counts.connections.opened += connects
    if connects == 0, check.hasPassed { counts.connections.reused += 1 }
    counts.bodyBytes.sent += handle.offset(CURLINFO_SIZE_UPLOAD_T)
    counts.bodyBytes.received += handle.offset(CURLINFO_SIZE_DOWNLOAD_T)
  }
}
