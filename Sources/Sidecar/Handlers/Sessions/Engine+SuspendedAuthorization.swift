import AuthEngine
import PosternJSON
import PosternJSONRPC
import PosternProtocol
import PosternSupport
import SidecarCalls
import SidecarEngine

extension Engine {
  /// The error of a call. If the access manager requires the user to do something first, it contains a continuation:
  /// for `session`, or for the session that was to be created.
  func fault(
    _ error: SessionError, at issuer: SessionIssuer, of session: SessionHandle?, path: String = "",
    _ context: CallContext
  ) async -> RPCFault {
    var fault = ErrorMap.fault(error, path: path)
    guard case .adviceRequired(let pending) = error.kind,
      let request = Self.request(pending, session),
      let step = try? await journeys.hold(request, at: issuer, ownedBy: context.uid)
    else { return fault }
    fault.data["continuation"] = .string(step.continuation)
    fault.data["expiresAt"] = .string(step.expiresAt.rfc3339)
    return fault
  }

  private static func request(_ pending: SuspendedAuthorization, _ session: SessionHandle?) -> JourneyRequest? {
    guard let session else { return .signOn(pending) }
    return .stepUp(session, advices: pending.advices)
  }
}
