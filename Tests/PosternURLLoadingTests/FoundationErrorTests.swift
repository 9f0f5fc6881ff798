import AuthEngine
import Foundation
import HTTPMessages
import JOSE
import PosternJSON
import PosternSupport
import PosternURLLoading
import Testing

@testable import AdobePass
@testable import Entitlements
@testable import OAuthClient
@testable import ResourceAccess
@testable import SessionRecords
@testable import Sessions
@testable import StepUp
@testable import TokenValidation

/// The engine's errors as Foundation has errors: number and reason of errors.md, in one documented domain.
@Suite("Errors for Foundation")
struct FoundationErrorTests {
  struct Case: Sendable, CustomTestStringConvertible {
    let error: any FoundationError
    let number: Int
    let reason: String
    var members: [String: String] = [:]
    var testDescription: String { "\(type(of: error)) \(number) \(reason)" }
  }

  private static let rejected = TokenError(
    .rejected(nil), "words", status: 400, retryAfter: .milliseconds(1500))
  private static let down = TransportError(code: .serverUnreachable, outcome: .notSent, detail: "words")
  private static let unreachable = TokenError(.unreachable(down), "words")
  private static let mismatch = DiscoveryError(.issuerMismatch, "words")

  private static let codesTable: [(ErrorCode, Int)] = [
    (.adviceRequired, 1017), (.adviceFailed, 1018), (.notAuthenticated, 1001), (.notImplicitlyAuthenticated, 1002),
    (.deviceNotAuthenticated, 1003), (.methodNotAllowed, 1004), (.invalidHeaders, 1005), (.invalidURL, 1006),
    (.originNotAllowed, 1007), (.networkUnreachable, 1008), (.serverUnreachable, 1009), (.tlsFailure, 1010),
    (.pinMismatch, 1011), (.responseTooLarge, 1012), (.protocolError, 1013), (.payloadEncryptionFailed, 1015),
    (.sessionNotFound, 5001), (.tokenEndpointError, 5003), (.tokenEndpointUnreachable, 5004),
    (.storeUnavailable, 5008), (.invalidParams, -32_602), (.overloaded, -32_009), (.deadlineExceeded, -32_022),
    (.requestCancelled, -32_800), (.internalError, -32_603), (.interactionRequired, 1019),
  ]

  private static let resources: [Case] = {
    codesTable.map { code, number in
      Case(
        error: ResourceError(
          code, "words", path: ["headers", "X"], outcome: .sentNoReply,
          upstream: UpstreamFault(status: 503, code: "invalid_client"), retryable: true,
          retryAfter: .seconds(2)),
        number: number, reason: code.reason,
        members: [
          "PosternOutcome": "sent_no_reply", "PosternPath": "/headers/X", "PosternRetryable": "true",
          "PosternRetryAfter": "2.0", "PosternUpstreamStatus": "503", "PosternUpstreamCode": "invalid_client",
        ])
    }
  }()

  private static let transportTable: [(TransportError.Code, Int, String)] = [
    (.networkUnreachable, 1008, "network_unreachable"), (.serverUnreachable, 1009, "server_unreachable"),
    (.tlsFailure, 1010, "tls_failure"), (.pinMismatch, 1011, "pin_mismatch"),
    (.responseTooLarge, 1012, "response_too_large"), (.protocolError, 1013, "protocol_error"),
    (.invalidURL, 1006, "invalid_url"), (.addressNotAllowed, 1007, "origin_not_allowed"),
    (.timedOut, -32022, "deadline_exceeded"), (.cancelled, -32800, "request_cancelled"),
  ]

  private static let transport = transportTable.map { code, number, reason in
    Case(
      error: TransportError(code: code, outcome: .replied, detail: "words"), number: number, reason: reason,
      members: ["PosternOutcome": "replied"])
  }

  private static let sessionsTable: [(SessionError.Kind, Int, String, [String: String])] = [
    (.notFound, 5001, "session_not_found", [:]), (.expired, 5002, "session_expired", [:]),
    (
      .tokenEndpoint(rejected), 5003, "token_endpoint_error",
      [
        "PosternUpstreamStatus": "400", "PosternRetryable": "false",
        "PosternRetryAfter": "1.5", "PosternOutcome": "replied",
      ]
    ),
    (
      .unreachable(unreachable), 5004, "token_endpoint_unreachable",
      ["PosternRetryable": "true", "PosternOutcome": "not_sent"]
    ),
    (.authorizationFailed, 5005, "authorization_failed", ["PosternRetryable": "false"]),
    (.stateUnknown, 5006, "state_unknown", [:]),
    (.store(StoreError(.unavailable, "full")), 5008, "store_unavailable", ["PosternRetryable": "true"]),
    (.issuerUnknown, 5009, "issuer_unknown", [:]), (.grantNotSupported, 5010, "grant_not_supported", [:]),
    (.pending(retryAfter: .seconds(5)), 5007, "authorization_pending", ["PosternRetryAfter": "5.0"]),
    (.overloaded(retryAfter: nil), -32009, "overloaded", ["PosternRetryable": "false"]),
    (.invalid(path: ["grant"]), -32602, "invalid_params", ["PosternPath": "/grant"]),
    (.cancelled, -32800, "request_cancelled", [:]), (.deadlineExceeded, -32022, "deadline_exceeded", [:]),
  ]

  private static let sessions = sessionsTable.map { kind, number, reason, members in
    Case(error: SessionError(kind, "words"), number: number, reason: reason, members: members)
  }

  private static let tokensTable: [(TokenError, Int, String)] = [
    (rejected, 5003, "token_endpoint_error"), (unreachable, 5004, "token_endpoint_unreachable"),
    (TokenError(.unavailable(nil), "words", status: 503), 5003, "token_endpoint_error"),
    (TokenError(.malformed, "words"), 5003, "token_endpoint_error"),
    (TokenError(.discovery(mismatch), "words"), 2003, "discovery_issuer_mismatch"),
    (TokenError(.notPossible, "words"), 5010, "grant_not_supported"),
    (TokenError(.cancelled, "words"), -32800, "request_cancelled"),
    (TokenError(.deadlineExceeded, "words"), -32022, "deadline_exceeded"),
  ]

  private static let tokens = tokensTable.map { error, number, reason in
    Case(error: error, number: number, reason: reason)
  }

  private static let keysTable: [(KeySetError.Kind, Int, String)] = [
    (.fetchFailed, 2001, "jwks_fetch_failed"), (.discoveryFailed, 2002, "discovery_failed"),
    (.discoveryIssuerMismatch, 2003, "discovery_issuer_mismatch"), (.invalid, 2004, "jwks_invalid"),
    (.cancelled, -32800, "request_cancelled"), (.deadlineExceeded, -32022, "deadline_exceeded"),
  ]

  private static let keys = keysTable.map { kind, number, reason in
    Case(error: KeySetError(kind, "words"), number: number, reason: reason)
  }

  private static let validation: [Case] = [
    Case(error: DiscoveryError(.failed, "words"), number: 2002, reason: "discovery_failed"),
    Case(error: mismatch, number: 2003, reason: "discovery_issuer_mismatch"),
    Case(error: IntrospectionError.unanswered(rejected), number: 2007, reason: "introspection_failed"),
    Case(
      error: IntrospectionError.unanswered(TokenError(.cancelled, "words")), number: -32800,
      reason: "request_cancelled"),
    Case(error: IntrospectionError.malformed("words"), number: 2007, reason: "introspection_failed"),
    Case(error: IntrospectionError.undecided(KeySetError(.invalid, "words")), number: 2004, reason: "jwks_invalid"),
  ]

  private static let journeysTable: [(JourneyError.Kind, Int, String, [String: String])] = [
    (.adviceNotRecognised, 3001, "advice_not_recognised", [:]),
    (.continuationUnknown, 3002, "continuation_unknown", ["PosternPath": "/continuation"]),
    (.timedOut, 3003, "authentication_timed_out", [:]),
    (.unreachable(unreachable), 3004, "access_manager_unreachable", ["PosternOutcome": "not_sent"]),
    (
      .accessManager(status: 500, code: "128"), 3005, "access_manager_error",
      ["PosternUpstreamStatus": "500", "PosternUpstreamCode": "128", "PosternRetryable": "true"]
    ),
    (.session(.notFound), 5001, "session_not_found", [:]),
    (.overloaded(retryAfter: .seconds(1)), -32009, "overloaded", ["PosternRetryAfter": "1.0"]),
    (.invalid(path: ["answers"]), -32602, "invalid_params", ["PosternPath": "/answers"]),
    (.deadlineExceeded, -32022, "deadline_exceeded", [:]), (.cancelled, -32800, "request_cancelled", [:]),
  ]

  private static let journeys = journeysTable.map { kind, number, reason, members in
    Case(error: JourneyError(kind, "words"), number: number, reason: reason, members: members)
  }

  private static let others: [Case] = [
    Case(error: StoreError(.corrupted, "words"), number: 5008, reason: "store_unavailable"),
    Case(error: HTTPURLError(.backslash), number: 1006, reason: "invalid_url"),
    Case(error: KeyPinsError(pin: "words"), number: -32602, reason: "invalid_params"),
    Case(
      error: PassParameterError(["device"], "words"), number: -32602, reason: "invalid_params",
      members: ["PosternPath": "/device"]),
    Case(
      error: JSONDecodingError(path: "/words", problem: .missing), number: -32602, reason: "invalid_params",
      members: ["PosternPath": "/words"]),
    Case(
      error: StaticCredentialError(part: .value, phrase: "words"), number: -32602, reason: "invalid_params"),
    Case(
      error: PayloadEncryption.KeyError.recipient(JOSEError(.weakKey, "words")), number: -32602,
      reason: "invalid_params"),
  ]

  @Test(
    "an NSError has the number, the reason and the further values of an error",
    arguments: [resources, transport, sessions, tokens, keys, validation, journeys, others].flatMap { $0 })
  func each(_ example: Case) {
    let plain: any Error = example.error
    let error = plain as NSError
    #expect(error.domain == "PosternErrorDomain" && error.code == example.number)
    #expect(error.userInfo["PosternReason"] as? String == example.reason)
    #expect(error.localizedFailureReason == example.reason)
    #expect(plain.localizedDescription == error.localizedDescription)
    #expect(
      plain.localizedDescription.contains("words") || example.error is HTTPURLError,
      "Foundation's own sentence instead of what went wrong: \(plain.localizedDescription)")
    for (name, value) in example.members { #expect(error.userInfo[name].map { "\($0)" } == value, "\(name)") }
  }

  @Test("decisions and invalid tokens have domains of their own: their numbers mean something else")
  func otherDomains() {
    let status = Status(status: 403, code: "authorization_denied_by_mvpd", action: "none", message: "words")
    let decision = DecisionFault(status, retry: .after(.seconds(3))) as NSError
    #expect(decision.domain == "PosternDecisionErrorDomain" && decision.code == 403)
    #expect(decision.userInfo["PosternReason"] as? String == "authorization_denied_by_mvpd")
    #expect(decision.userInfo["PosternRetryAfter"] as? Double == 3 && decision.localizedDescription == "words")
    let token = TokenFault(TokenFault.Code(rawValue: "nonce_mismatch"), "words") as NSError
    #expect(token.domain == "PosternTokenErrorDomain" && token.code == 1)
    #expect(token.userInfo["PosternReason"] as? String == "nonce_mismatch" && token.localizedDescription == "words")
    let fault = TokenFault(TokenFault.Code(rawValue: "nonce_mismatch"), "words")
    let missing = KeySetError(.fetchFailed, "words")
    let tokens: [(any Error, Int, String)] = [
      (IDTokenValidationError.invalid(fault), 1, "nonce_mismatch"),
      (IDTokenValidationError.undecided(missing), 2001, "jwks_fetch_failed"),
      (InboundTokenError.invalid(fault), 1, "nonce_mismatch"),
      (InboundTokenError.undecided(missing), 2001, "jwks_fetch_failed"),
      (InboundTokenError.notIntrospected(.malformed("words")), 2007, "introspection_failed"),
      (JOSEError(.weakKey, "words"), 1, "weak_key"),
    ]
    for (plain, number, reason) in tokens {
      let error = plain as NSError
      #expect(error.domain == "PosternTokenErrorDomain" && error.code == number, "\(plain)")
      #expect(error.localizedDescription == "words" && error.localizedFailureReason == reason, "\(plain)")
    }
  }

  @Test("a JSON text that cannot be read has Foundation's own sentence")
  func json() throws {
    let error = #expect(throws: JSONParseError.self) { try JSONParser().parse([UInt8(ascii: "{")]) } as NSError?
    #expect(error?.code == -32700)
    #expect(error?.localizedDescription.contains("could not be completed") == false)
  }
}

extension URLSessionTests {
  @Test("a session's completion gets the URLError, the engine's members in it, and the engine's error behind it")
  func errorMembers() async throws {
    let bench = try await LoadingBench(isLoggedIn: false) { _ in LoadingBench.reply(200) }
    guard case .failure(let error) = await bench.outcome(LoadingBench.request("/x")) else {
      Issue.record("a request without a token went out")
      return
    }
    let bridged = error as NSError
    #expect(bridged.domain == NSURLErrorDomain && bridged.code == NSURLErrorUserAuthenticationRequired)
    #expect(bridged.userInfo["PosternReason"] as? String == "not_authenticated")
    #expect(bridged.userInfo["PosternOutcome"] as? String == "not_sent")
    #expect(error.localizedDescription.hasPrefix("not_authenticated: "))
    let behind = try #require(bridged.userInfo[NSUnderlyingErrorKey] as? any Error) as NSError
    #expect(behind.domain == "PosternErrorDomain" && behind.code == 1001)
  }
}
