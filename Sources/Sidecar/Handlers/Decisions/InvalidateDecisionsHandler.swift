import AuthEngine
import PosternConfiguration
import PosternJSONRPC
import PosternProtocol

/// `invalidateDecisions`: of the calling user's own decisions only.
struct InvalidateDecisionsHandler: Sendable {
  let engine: Engine

  func callAsFunction(
    _ params: InvalidateDecisions.Params, _ context: CallContext
  ) async throws(RPCFault) -> InvalidateDecisions.Result {
    var selection = DecisionSelection(
      uid: context.uid, provider: params.provider, resources: params.resources)
    if let provider = params.provider, case .failure = context.runtime.decisionPoint(provider) {
      throw .invalidParams("No such decision point is configured", path: "/provider")
    }
    guard params.resources?.count ?? 0 <= PreauthorizeHandler.maxResources else {
      throw .invalidParams("resources are more than \(PreauthorizeHandler.maxResources)", path: "/resources")
    }
    if let text = params.session {
      let handle = try SessionHandle.given(text)
      do throws(SessionError) {
        _ = try await engine.visibleSession(handle, context)
      } catch {
        throw ErrorMap.fault(error)
      }
      selection.session = handle
    }
    // All at once if nothing is hidden: that also removes decisions of decision points of earlier configurations.
    guard !context.runtime.hidesDecisions else {
      var removed = 0
      for name in context.runtime.ownDecisionPoints where params.provider ?? name == name {
        selection.provider = name
        removed += await engine.preauthorizer.forgetInParts(selection)
      }
      return InvalidateDecisions.Result(removed: removed)
    }
    return InvalidateDecisions.Result(removed: await engine.preauthorizer.forgetInParts(selection))
  }
}
