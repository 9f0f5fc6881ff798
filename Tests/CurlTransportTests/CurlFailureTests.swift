import Glibc
import HTTPMessages
import PosternSupport
import Testing

@testable import CurlTransport

@Suite("libcurl's codes")
struct CurlFailureTests {
  /// libcurl's numbers are part of its ABI.
  struct Row: Sendable, CustomTestStringConvertible {
    let number: UInt32
    var errno: Int32 = 0
    var outcome = TransportError.Outcome.notSent
    let code: TransportError.Code
    var testDescription: String { "\(number), errno \(errno), \(outcome.rawValue) → \(code.rawValue)" }
  }

  @Test(
    "each has one of our codes",
    arguments: [
      Row(number: 1, code: .invalidURL),
      Row(number: 1, outcome: .sentNoReply, code: .protocolError),
      Row(number: 3, code: .invalidURL),
      Row(number: 5, code: .serverUnreachable),
      Row(number: 6, code: .serverUnreachable),
      Row(number: 7, errno: ECONNREFUSED, code: .serverUnreachable),
      Row(number: 7, errno: EMFILE, code: .serverUnreachable),
      Row(number: 7, errno: ENETUNREACH, code: .networkUnreachable),
      Row(number: 7, errno: EHOSTUNREACH, code: .networkUnreachable),
      Row(number: 7, errno: ENETDOWN, code: .networkUnreachable),
      Row(number: 8, outcome: .sentNoReply, code: .protocolError),
      Row(number: 16, outcome: .sentNoReply, code: .protocolError),
      Row(number: 18, outcome: .replied, code: .protocolError),
      Row(number: 27, outcome: .sentNoReply, code: .responseTooLarge),
      Row(number: 27, code: .serverUnreachable),
      Row(number: 28, code: .serverUnreachable),
      Row(number: 35, code: .tlsFailure),
      Row(number: 42, outcome: .sentNoReply, code: .serverUnreachable),
      Row(number: 52, outcome: .sentNoReply, code: .serverUnreachable),
      Row(number: 55, outcome: .sentNoReply, code: .serverUnreachable),
      // A stale number of an earlier connect means nothing for a connection that was lost.
      Row(number: 56, errno: ENETUNREACH, outcome: .sentNoReply, code: .serverUnreachable),
      Row(number: 56, outcome: .replied, code: .protocolError),
      Row(number: 58, code: .tlsFailure),
      Row(number: 60, code: .tlsFailure),
      Row(number: 61, outcome: .replied, code: .protocolError),
      Row(number: 65, outcome: .sentNoReply, code: .serverUnreachable),
      Row(number: 77, code: .tlsFailure),
      Row(number: 83, code: .tlsFailure),
      Row(number: 90, code: .pinMismatch),
      Row(number: 92, outcome: .sentNoReply, code: .protocolError),
      Row(number: 97, code: .serverUnreachable),
      Row(number: 98, code: .tlsFailure),
      Row(number: 4711, outcome: .replied, code: .protocolError),
    ])
  func row(_ row: Row) {
    let failure = CurlFailure(number: row.number, systemError: row.errno, outcome: row.outcome, text: "")
    #expect(failure.transportError == TransportError(code: row.code, outcome: row.outcome, detail: ""))
  }

  @Test("a server that answers a TLS handshake in clear text is named as such")
  func plainPort() {
    for text in [
      "OpenSSL/3.0.15: error:0A00010B:SSL routines::wrong version number", "error:0A00009C:SSL routines::http request",
    ] {
      let error = CurlFailure(number: 35, systemError: 0, outcome: .notSent, text: text).transportError
      #expect(error.detail == "the TLS connection failed: the port answers without TLS")
    }
  }

  @Test("a TLS alert after the handshake is a TLS failure, in OpenSSL's words; a lost connection is none")
  func alert() {
    let text = "OpenSSL SSL_read: error:0A00045C:SSL routines::tlsv13 alert certificate required, errno 0"
    for number: UInt32 in [55, 56] {
      let error = CurlFailure(number: number, systemError: 0, outcome: .sentNoReply, text: text).transportError
      #expect(error == TransportError(code: .tlsFailure, outcome: .sentNoReply, detail: ""))
      #expect(error.detail == "the TLS connection failed: tlsv13 alert certificate required")
      let lost = CurlFailure(number: number, systemError: 0, outcome: .sentNoReply, text: "Recv failure: reset")
      #expect(lost.transportError.code == .serverUnreachable)
    }
  }

  @Test("what is wrong with a certificate is part of the message, without control characters")
  func certificates() {
    for (text, detail) in [
      (
        "SSL certificate problem: unable to get local issuer certificate",
        "the server's certificate is not trusted: unable to get local issuer certificate"
      ),
      (
        "SSL: no alternative certificate subject name matches target host name 'localhost'",
        "the server's certificate is not for 'localhost'"
      ),
      ("no match\u{1b}[31m\nfor \u{fc}", "the TLS connection failed: no match?[31m?for ?"),
      ("", "the TLS connection failed"),
    ] {
      let error = CurlFailure(number: 60, systemError: 0, outcome: .notSent, text: text).transportError
      #expect(error.detail == detail)
    }
  }

  @Test("a text of libcurl's that may quote the response is in no message")
  func quotes() {
    for number: UInt32 in 1...99 {
      let error = CurlFailure(number: number, systemError: 0, outcome: .replied, text: "SSL: secret").transportError
      #expect(!error.detail.contains("secret") && !error.detail.isEmpty)
    }
  }

  @Test("a failed connect has the system's reason")
  func connecting() {
    let error = CurlFailure(number: 7, systemError: ECONNREFUSED, outcome: .notSent, text: "").transportError
    #expect(error.detail == "no connection to the server: Connection refused")
  }
}
