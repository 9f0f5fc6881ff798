import CPosternCurl
import HTTPMessages
import PosternSupport

extension Transfer {
  /// The result of the exchange, after libcurl has ended it.
  func result(of code: CURLcode, now: MonotonicInstant) -> Result<HTTPResponse, TransportError> {
    let outcome = outcome
    func failure(_ code: TransportError.Code, _ detail: String) -> Result<HTTPResponse, TransportError> {
      .failure(TransportError(code: code, outcome: outcome, detail: detail))
    }
    if case .proxyRejection(let error) = reception.fault { return .failure(error) }
    if case .rejected(let code, let detail) = reception.fault { return failure(code, detail) }
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
