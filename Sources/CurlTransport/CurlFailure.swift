import CPosternCurl
import Glibc
import HTTPMessages
import PosternSupport

/// libcurl's result of an exchange without a response, as a `TransportError`. Nothing else knows libcurl's codes.
struct CurlFailure {
  let code: CURLcode
  /// The `errno` of the last failed connect: of this exchange only when connecting is what failed.
  let systemError: Int32
  let outcome: TransportError.Outcome
  /// libcurl's text; empty where it has none.
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
    let (code, words) = meaning
    let isBodySize = self.code == CURLE_FILESIZE_EXCEEDED
    return TransportError(code: code, outcome: outcome, detail: words, limit: isBodySize ? .bodySize : nil)
  }

  /// The error's code, and what to say of it: libcurl's texts are for users of curl.
  private var meaning: (TransportError.Code, String) {
    switch code {
    case CURLE_URL_MALFORMAT: (.invalidURL, "the URL cannot be used")
    // libcurl also reports a peer that does not speak HTTP/1 so (an HTTP/0.9 reply).
    case CURLE_UNSUPPORTED_PROTOCOL, CURLE_BAD_FUNCTION_ARGUMENT:
      outcome == .notSent
        ? (.invalidURL, "the URL cannot be used") : (.protocolError, "the server's answer is not HTTP")
    case CURLE_COULDNT_RESOLVE_HOST: (.serverUnreachable, "the server's name cannot be resolved")
    case CURLE_COULDNT_RESOLVE_PROXY, CURLE_PROXY: (.serverUnreachable, "the proxy cannot be used")
    // No other bound is given to libcurl than the one of connecting.
    case CURLE_OPERATION_TIMEDOUT, CURLE_NO_CONNECTION_AVAILABLE:
      (.serverUnreachable, "no connection to the server within the time for connecting")
    case CURLE_COULDNT_CONNECT: (unreachable, "no connection to the server" + systemReason)
    // A reply was cut short once it had begun.
    case CURLE_SEND_ERROR where isAlert, CURLE_RECV_ERROR where isAlert: (.tlsFailure, tlsDetail)
    case CURLE_SEND_ERROR, CURLE_RECV_ERROR:
      outcome == .replied
        ? (.protocolError, "the connection was lost within the response")
        : (.serverUnreachable, "the connection was lost")
    case CURLE_GOT_NOTHING: (.serverUnreachable, "the server closed the connection without a response")
    // `ConnectionCheck` does not let a request be retried that may have had its effect.
    case CURLE_SEND_FAIL_REWIND, CURLE_ABORTED_BY_CALLBACK:
      (.serverUnreachable, "the connection was lost; the request is not retried")
    case CURLE_SSL_CONNECT_ERROR, CURLE_PEER_FAILED_VERIFICATION, CURLE_SSL_CERTPROBLEM, CURLE_SSL_CIPHER,
      CURLE_USE_SSL_FAILED, CURLE_SSL_ENGINE_NOTFOUND, CURLE_SSL_ENGINE_SETFAILED, CURLE_SSL_ENGINE_INITFAILED,
      CURLE_SSL_CACERT_BADFILE, CURLE_SSL_SHUTDOWN_FAILED, CURLE_SSL_CRL_BADFILE, CURLE_SSL_ISSUER_ERROR,
      CURLE_SSL_INVALIDCERTSTATUS, CURLE_SSL_CLIENTCERT:
      (.tlsFailure, tlsDetail)
    case CURLE_SSL_PINNEDPUBKEYNOTMATCH: (.pinMismatch, "none of the pins is a key of the server")
    case CURLE_FILESIZE_EXCEEDED: (.responseTooLarge, "the body is larger than the limit")
    // libcurl's buffer for one header line has a fixed bound and reports an overflow as lack of memory.
    case CURLE_OUT_OF_MEMORY:
      outcome == .sentNoReply
        ? (.responseTooLarge, "a header field is larger than the limit") : (.serverUnreachable, "out of memory")
    case CURLE_PARTIAL_FILE: (.protocolError, "the body ends before its announced length")
    case CURLE_BAD_CONTENT_ENCODING: (.protocolError, "a content or transfer coding that cannot be undone")
    case CURLE_HTTP2, CURLE_HTTP2_STREAM: (broken, "the server broke HTTP/2")
    // Weird replies, broken framing, and whatever libcurl learns to report later.
    default: (broken, outcome == .notSent ? "no connection to the server" : "the server's response is not valid HTTP")
    }
  }

  private var broken: TransportError.Code { outcome == .notSent ? .serverUnreachable : .protocolError }

  /// In TLS 1.3 a server that does not accept the client's certificate reports it after the handshake, when the request
  /// may be on its way.
  private var isAlert: Bool {
    outcome != .replied && text.containsBytes(of: "SSL routines") && text.containsBytes(of: " alert ")
  }

  private var unreachable: TransportError.Code {
    [ENETUNREACH, EHOSTUNREACH, ENETDOWN].contains(systemError) ? .networkUnreachable : .serverUnreachable
  }

  var systemReason: String { systemError == 0 ? "" : ": \(SystemError.text(systemError))" }

  /// The failure of TLS, with OpenSSL's reason where libcurl's text has one. Not once there was a response, which the
  /// text may quote.
  private var tlsDetail: String {
    let general = "the TLS connection failed"
    guard outcome == .notSent || isAlert, !text.isEmpty else { return general }
    for (prefix, words) in Self.certificateFaults where text.startsWithBytes(of: prefix) {
      return words + Self.printable(text.utf8.dropFirst(prefix.utf8.count))
    }
    // `OpenSSL SSL_read: error:0A00045C:SSL routines::tlsv13 alert certificate required, errno 0`
    // A server that answers the handshake in clear text.
    if text.containsBytes(of: "wrong version number") || text.containsBytes(of: "http request") {
      return "\(general): the port answers without TLS"
    }
    let marker = "SSL routines::"
    guard let reason = text.utf8.firstRange(of: marker.utf8)?.upperBound else {
      return "\(general): \(Self.printable(text.utf8[...]))"
    }
    return "\(general): \(Self.printable(text.utf8[reason...].prefix { $0 != UInt8(ascii: ",") }))"
  }

  /// The beginnings of libcurl's texts about certificates, with their replacements.
  private static let certificateFaults = [
    ("SSL certificate problem: ", "the server's certificate is not trusted: "),
    ("SSL: no alternative certificate subject name matches target host name ", "the server's certificate is not for "),
    ("SSL: certificate subject name ", "the server's certificate is not for its host name, but for "),
  ]

  private static func printable(_ text: Substring.UTF8View) -> String {
    String(
      String.UnicodeScalarView(Substring(text).unicodeScalars.prefix(240).map { isPrintable($0) ? $0 : "?" }))
  }

  private static func isPrintable(_ scalar: Unicode.Scalar) -> Bool { scalar.value >= 0x20 && scalar.value < 0x7F }
}
