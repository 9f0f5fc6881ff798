import AuthEngine
import HTTPMessages
import PosternJSON
import PosternJSONRPC
import PosternProtocol
import PosternSupport
import Testing

@testable import OAuthClient
@testable import ResourceAccess
@testable import Sessions
@testable import Sidecar
@testable import StepUp

/// The map of the engine's errors to the wire's.
@Suite("Errors on the wire")
struct ErrorMapTests {
  @Test("the offending parameter of an error is a JSON Pointer, behind the parameter it was given in")
  func pointers() {
    let header = ResourceError(.invalidHeaders, "words", path: ["headers", "X/Y"])
    #expect(ErrorMap.fault(header).data["path"] == "/headers/X~1Y")
    let token = SessionError(.invalid(path: ["ssoToken"]), "words")
    #expect(ErrorMap.fault(token, path: "/grant").data["path"] == "/grant/ssoToken")
  }

  static func discovery(_ code: TransportError.Code) -> TokenError {
    let transport = TransportError(code: code, outcome: .notSent, detail: "words")
    return TokenError(.discovery(DiscoveryError(.failed, "words", transport: transport)), "words")
  }

  static let faults: [(TokenError, Bool)] = [
    (discovery(.tlsFailure), false), (discovery(.pinMismatch), false), (discovery(.serverUnreachable), true),
    (TokenError(.discovery(DiscoveryError(.issuerMismatch, "words")), "words"), false),
    (TokenError(.discovery(DiscoveryError(.failed, "words", status: 401)), "words"), false),
    (TokenError(.discovery(DiscoveryError(.failed, "words", status: 503)), "words"), true),
    (TokenError(.unavailable(nil), "words", status: 503), true), (TokenError(.rejected(nil), "words"), false),
    (
      TokenError(.unreachable(TransportError(code: .tlsFailure, outcome: .notSent, detail: "words")), "words"), false
    ),
    (
      TokenError(.unreachable(TransportError(code: .protocolError, outcome: .replied, detail: "words")), "words"),
      true
    ),
  ]

  @Test("one fault of an issuer is retryable for every method or for none", arguments: faults)
  func retryable(fault: TokenError, isRetryable: Bool) {
    let session = SessionError(fault)
    let answers = [
      ErrorMap.fault(session), ErrorMap.fault(IntrospectionError.unanswered(fault)),
      ErrorMap.fault(ResourceError(fault, issuer: "idp")),
      ErrorMap.fault(ResourceError(session, kind: .user, issuer: "idp")),
    ]
    for answer in answers { #expect(answer.data["retryable"] == .bool(isRetryable), "\(answer)") }
  }

  @Test("an access manager that is not trusted stays so")
  func accessManager() {
    let transport = TransportError(code: .tlsFailure, outcome: .notSent, detail: "words")
    let fault = ErrorMap.fault(JourneyError(TokenError(.unreachable(transport), "words")))
    #expect(fault.code.reason == "access_manager_unreachable" && fault.data["retryable"] == false)
    #expect(fault.data["outcome"] == "not_sent")
  }
}
