import CPosternCurl
import Glibc
import HTTPMessages
import PosternSupport

extension Transfer {
  /// The result of the exchange, after libcurl has ended it.
  func result(of code: CURLcode, now: MonotonicInstant) -> Result<HTTPResponse, TransportError> {
    if let receptionError {
      return .failure(TransportError(code: receptionError.code, outcome: outcome, detail: receptionError.detail))
    }
    if let discarded { return .failure(discarded.error(outcome: outcome)) }
    guard code == CURLE_OK else {
      if hasRejectedAddress, outcome == .notSent, code == CURLE_COULDNT_CONNECT {
        return .failure(Self.addressRejection)
      }
      // A name is resolved with descriptors of its own, whose absence is not reported.
      if outcome == .notSent, lacksDescriptor || code == CURLE_COULDNT_RESOLVE_HOST && FileDescriptors.areOut {
        let detail = "the sidecar has no file descriptor left"
        return .failure(TransportError(code: .descriptorsOut, outcome: outcome, detail: detail))
      }
      if let seen = guardian?.seen, !seen.isEmpty {
        let detail = "none of the pins is a key of the server's certificate chain; its keys: \(seen)"
        return .failure(TransportError(code: .pinMismatch, outcome: outcome, detail: detail))
      }
      if let problem = guardian?.problem, !problem.isEmpty {
        return .failure(TransportError(code: .tlsFailure, outcome: outcome, detail: problem))
      }
      let failure = CurlFailure(
        code: code,
        systemError: Int32(clamping: number(CURLINFO_OS_ERRNO)),
        outcome: outcome,
        text: plain(String(cString: errorText)))
      return .failure(failure.transportError)
    }
    report(sent: offset(CURLINFO_SIZE_UPLOAD_T))
    guard head.isComplete else {
      return .failure(TransportError(code: .protocolError, outcome: outcome, detail: "no complete response"))
    }
    guard isBodyComplete else {
      return .failure(
        TransportError(code: .protocolError, outcome: outcome, detail: "the body is shorter than it was declared"))
    }
    return .success(response(now: now))
  }

  /// Whether the body has the length that was declared. libcurl looks at that itself over HTTP/1.1; over HTTP/2 it
  /// takes a stream that the server has reset without an error for complete.
  private var isBodyComplete: Bool {
    guard hasBody, !head.isChunked, let length = head.contentLength else { return true }
    // Before content codings are undone.
    return offset(CURLINFO_SIZE_DOWNLOAD_T) == Int64(length)
  }

  /// `text` with the authorities' file as it was given.
  private func plain(_ text: String) -> String {
    guard let trust = shape?.trust, let path = trust.caFile ?? CurlLibrary.authorities, trust.mark != nil else {
      return text
    }
    return text.replacing(trust.spelled(path), with: path)
  }

  private func response(now: MonotonicInstant) -> HTTPResponse {
    HTTPResponse(status: head.status, reason: head.reason, fields: fields, body: body, timing: timing(now: now))
  }

  /// The head of the response, before its body.
  func responseHead(from url: HTTPURL) -> HTTPResponseHead {
    HTTPResponseHead(status: head.status, reason: head.reason, url: url, fields: fields)
  }

  /// The response's fields, without those of a content coding that libcurl undoes.
  private var fields: HTTPFields {
    var lines = head.lines
    if head.hasContentCoding, hasBody {
      lines.removeAll {
        FieldSyntax.isName($0.name.utf8, "content-encoding") || FieldSyntax.isName($0.name.utf8, "content-length")
      }
    }
    return HTTPFields(lines)
  }

  private func timing(now: MonotonicInstant) -> HTTPResponse.Timing {
    let submittedAt = exchange?.submittedAt ?? handedOverAt
    let queued = handedOverAt - submittedAt
    let connected = max(offset(CURLINFO_CONNECT_TIME_T), offset(CURLINFO_APPCONNECT_TIME_T))
    return HTTPResponse.Timing(
      total: now - submittedAt,
      queued: queued,
      connect: number(CURLINFO_NUM_CONNECTS) == 0 ? .zero : .microseconds(connected),
      firstByte: queued + .microseconds(offset(CURLINFO_STARTTRANSFER_TIME_T)))
  }

  /// Adds what this exchange moved.
  func addTraffic(to counts: inout CurlTransport.Statistics) {
    let connects = number(CURLINFO_NUM_CONNECTS)
    counts.connectionsOpened += connects
    if connects == 0, bytesBeforeRequest != nil { counts.connectionsReused += 1 }
    counts.bodyBytesSent += offset(CURLINFO_SIZE_UPLOAD_T)
    counts.bodyBytesReceived += offset(CURLINFO_SIZE_DOWNLOAD_T)
  }
}
