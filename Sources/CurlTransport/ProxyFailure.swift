import CPosternCurl
import HTTPMessages
import PosternSupport

/// The end of an exchange that did not get past its proxy with its last attempt.
struct ProxyFailure {
  /// libcurl's result.
  let failure: CurlFailure
  /// The status of the proxy's answer to CONNECT; 0: there was none.
  let status: Int
  let isAnonymous: Bool
  /// Whether the proxy's answer to CONNECT was longer than is read.
  var isEndless = false
  /// The fault of the proxy's certificates, found before they were parsed; empty where there is none.
  var certificateProblem = ""

  var transportError: TransportError {
    if !certificateProblem.isEmpty { return tlsFailure("the proxy: \(certificateProblem)") }
    if isEndless { return error("the proxy's answer to CONNECT is too long", isTransient: false) }
    if status != 0, !(200..<300).contains(status) { return rejection }
    let general = failure.transportError
    switch general.code {
    case .tlsFailure, .pinMismatch:
      return tlsFailure("the proxy: " + general.detail.replacing("the server's", with: "the proxy's"))
    default: break
    }
    switch failure.code {
    case CURLE_COULDNT_RESOLVE_PROXY, CURLE_COULDNT_RESOLVE_HOST:
      return error("the proxy's name cannot be resolved", isTransient: true)
    case CURLE_COULDNT_CONNECT:
      return error("no connection to the proxy" + failure.systemReason, isTransient: true)
    case CURLE_OPERATION_TIMEDOUT, CURLE_NO_CONNECTION_AVAILABLE:
      return error("no connection through the proxy within the time for connecting", isTransient: true)
    case CURLE_SEND_ERROR, CURLE_RECV_ERROR, CURLE_GOT_NOTHING:
      return error("the proxy closed the connection before it had answered", isTransient: true)
    default: return error("the proxy's answer to CONNECT is not valid", isTransient: false)
    }
  }

  /// The error of a proxy that answered, but not with a tunnel.
  private var rejection: TransportError {
    switch status {
    case 407 where isAnonymous:
      error(
        "the proxy requires a user name and a password: outbound.proxy.usernameFile, passwordFile", isTransient: false)
    case 407: error("the proxy does not accept the sidecar's credentials (outbound.proxy)", isTransient: false)
    case 403: error("the proxy denies the connection to this server", isTransient: false)
    case 408, 429, 500...599:
      error("the proxy has no connection to the server: it answered \(status)", isTransient: true)
    default: error("the proxy rejects the connection: it answered \(status)", isTransient: false)
    }
  }

  private func error(_ detail: String, isTransient: Bool) -> TransportError {
    TransportError(
      code: .serverUnreachable, outcome: failure.outcome, detail: detail,
      proxy: TransportError.ProxyFault(status: status == 0 ? nil : status, isTransient: isTransient))
  }

  private func tlsFailure(_ detail: String) -> TransportError {
    TransportError(
      code: .tlsFailure, outcome: failure.outcome, detail: detail,
      proxy: TransportError.ProxyFault(status: nil, isTransient: false))
  }
}

extension ProxyFailure {
  /// The error of an exchange in absolute form that was answered with 407: servers have no such answer (RFC 9110
  /// section 15.5.8), so it is the proxy's, and the request went no further.
  static func rejected(_ proxy: ProxyUse) -> TransportError {
    ProxyFailure(
      failure: CurlFailure(code: CURLE_OK, systemError: 0, outcome: .notSent, text: ""), status: 407,
      isAnonymous: proxy.isAnonymous
    ).transportError
  }

  /// The error of an exchange whose proxy's name was not resolved in time.
  static func nameUnresolved(outcome: TransportError.Outcome) -> TransportError {
    TransportError(
      code: .serverUnreachable, outcome: outcome,
      detail: "the proxy's name was not resolved in the time for connecting",
      proxy: TransportError.ProxyFault(status: nil, isTransient: true))
  }
}
