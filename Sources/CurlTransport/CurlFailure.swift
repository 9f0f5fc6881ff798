import CPosternCurl
import Glibc
import HTTPMessages
import PosternSupport

/// libcurl's verdict on an exchange without a response, and its translation: the one place that knows libcurl's codes.
struct CurlFailure {
  let code: CURLcode
  /// The `errno` of the last failed connect: of this exchange only when connecting is what failed.
  let systemError: Int32
  let outcome: TransportError.Outcome
  /// libcurl's own words; empty where it had none.
  let text: String

  init(code: CURLcode, systemError: Int32, outcome: TransportError.Outcome, text: String) {
    self.code = code
    self.systemError = systemError
    self.outcome = outcome
    self.text = text
  }

  /// The same with libcurl's number, which never changes its meaning.
  init(number: UInt32, systemError: Int32, outcome: TransportError.Outcome, text: String) {
    self.init(code: CURLcode(rawValue: number), systemError: systemError, outcome: outcome, text: text)
  }

  var transportError: TransportError {
    TransportError(code: transportCode, outcome: outcome, detail: detail)
  }

  private var transportCode: TransportError.Code {
    switch code {
    case CURLE_URL_MALFORMAT: .invalidURL
    // Also said of a peer that does not speak HTTP/1 (an HTTP/0.9 reply).
    case CURLE_UNSUPPORTED_PROTOCOL, CURLE_BAD_FUNCTION_ARGUMENT: outcome == .notSent ? .invalidURL : .protocolError
    case CURLE_COULDNT_RESOLVE_HOST, CURLE_COULDNT_RESOLVE_PROXY, CURLE_PROXY: .serverUnreachable
    // No other bound is given to libcurl than the one of connecting.
    case CURLE_OPERATION_TIMEDOUT, CURLE_NO_CONNECTION_AVAILABLE: .serverUnreachable
    case CURLE_COULDNT_CONNECT: unreachable
    // A reply was cut short once it had begun.
    case CURLE_SEND_ERROR where isAlert, CURLE_RECV_ERROR where isAlert: .tlsFailure
    case CURLE_SEND_ERROR, CURLE_RECV_ERROR: outcome == .replied ? .protocolError : .serverUnreachable
    case CURLE_GOT_NOTHING, CURLE_SEND_FAIL_REWIND: .serverUnreachable
    // `Transfer.beforeRequest` refused to repeat what may have had its effect.
    case CURLE_ABORTED_BY_CALLBACK: .serverUnreachable
    case CURLE_SSL_CONNECT_ERROR, CURLE_PEER_FAILED_VERIFICATION, CURLE_SSL_CERTPROBLEM, CURLE_SSL_CIPHER,
      CURLE_USE_SSL_FAILED, CURLE_SSL_ENGINE_NOTFOUND, CURLE_SSL_ENGINE_SETFAILED, CURLE_SSL_ENGINE_INITFAILED,
      CURLE_SSL_CACERT_BADFILE, CURLE_SSL_SHUTDOWN_FAILED, CURLE_SSL_CRL_BADFILE, CURLE_SSL_ISSUER_ERROR,
      CURLE_SSL_INVALIDCERTSTATUS, CURLE_SSL_CLIENTCERT:
      .tlsFailure
    case CURLE_SSL_PINNEDPUBKEYNOTMATCH: .pinMismatch
    case CURLE_FILESIZE_EXCEEDED: .responseTooLarge
    // libcurl's buffer for one header line has a fixed bound and reports an overflow as lack of memory.
    case CURLE_OUT_OF_MEMORY: outcome == .sentNoReply ? .responseTooLarge : .serverUnreachable
    // Weird replies, broken framing, undecodable codings, HTTP/2 errors, and whatever libcurl learns to say later.
    default: outcome == .notSent ? .serverUnreachable : .protocolError
    }
  }

  /// In TLS 1.3 a server that does not like the client's certificate says so after the handshake, when the request may
  /// be on its way.
  private var isAlert: Bool {
    outcome != .replied && text.containsBytes(of: "SSL routines") && text.containsBytes(of: " alert ")
  }

  private var unreachable: TransportError.Code {
    [ENETUNREACH, EHOSTUNREACH, ENETDOWN].contains(systemError) ? .networkUnreachable : .serverUnreachable
  }

  /// libcurl's text only before the request went: it names hosts and certificates then; later it may quote the peer.
  private var detail: String {
    if code == CURLE_ABORTED_BY_CALLBACK { return "the connection was lost; the request is not repeated" }
    let general = String(cString: curl_easy_strerror(code))
    guard outcome == .notSent || isAlert, !text.isEmpty else { return general }
    return String(String.UnicodeScalarView(text.unicodeScalars.prefix(240).map { Self.isPrintable($0) ? $0 : "?" }))
  }

  private static func isPrintable(_ scalar: Unicode.Scalar) -> Bool { scalar.value >= 0x20 && scalar.value < 0x7F }
}
