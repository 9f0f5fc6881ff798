import Glibc
import HTTPMessages
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
    "each says which of our codes it is",
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
      // A stale number of an earlier connect says nothing about a connection that was lost.
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

  @Test("a TLS alert after the handshake is a TLS failure, in OpenSSL's words; a lost connection is none")
  func alert() {
    let text = "OpenSSL SSL_read: error:0A00045C:SSL routines::tlsv13 alert certificate required, errno 0"
    for number: UInt32 in [55, 56] {
      let error = CurlFailure(number: number, systemError: 0, outcome: .sentNoReply, text: text).transportError
      #expect(error == TransportError(code: .tlsFailure, outcome: .sentNoReply, detail: ""))
      #expect(error.detail == text)
      let lost = CurlFailure(number: number, systemError: 0, outcome: .sentNoReply, text: "Recv failure: reset")
      #expect(lost.transportError.code == .serverUnreachable)
    }
  }

  @Test("libcurl's own words are used only before the request went, and without control characters")
  func words() {
    let text = "SSL: no match\u{1b}[31m\nfor \u{fc}"
    let before = CurlFailure(number: 60, systemError: 0, outcome: .notSent, text: text).transportError
    #expect(before.detail == "SSL: no match?[31m?for ?")
    let after = CurlFailure(number: 56, systemError: 0, outcome: .replied, text: text).transportError
    #expect(!after.detail.contains("SSL"))
    #expect(!after.detail.isEmpty)
  }
}
