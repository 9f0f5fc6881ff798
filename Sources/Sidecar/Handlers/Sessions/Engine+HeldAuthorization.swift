import AuthEngine
import PosternJSON
import PosternJSONRPC
import PosternProtocol
import PosternSupport

extension Engine {
  /// What a call ends with. Where the access manager wants the user to do something first it says how to go on: for
  /// `session`, or for the one that was to be made.
  func fault(
    _ error: SessionError, at issuer: SessionIssuer, of session: SessionHandle?, path: String = "",
    _ context: CallContext
  ) async -> RPCFault {
    var fault = ErrorMap.fault(error, path: path)
    guard case .adviceRequired(let held) = error.kind,
      let request = Self.request(held, session),
      let step = try? await journeys.hold(request, at: issuer, ownedBy: context.owner)
    else { return fault }
    fault.data["continuation"] = .string(step.continuation)
    fault.data["expiresAt"] = .string(step.expiresAt.rfc3339)
    return fault
  }

  private static func request(_ held: HeldAuthorization, _ session: SessionHandle?) -> JourneyRequest? {
    guard let session else { return .signOn(held) }
    return .stepUp(session, advices: held.advices)
  }
}
