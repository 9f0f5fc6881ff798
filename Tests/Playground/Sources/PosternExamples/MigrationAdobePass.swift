import PosternKit

/// The code of proto-docs/migration/adobe-pass.md; a test compares the page with it.
struct MigrationAdobePass {
  let show: @Sendable (_ id: String, _ isAuthorized: Bool) -> Void
  let logIn: @Sendable () -> Void
  let print: @Sendable (String) -> Void

  func setUp() async throws -> Postern {
    let postern = try await Postern(configuration: "postern.yaml")
    return postern
  }

  func enabler(_ postern: Postern) throws -> AccessEnabler {
    let accessEnabler = try postern.accessEnabler(at: "channels")
    return accessEnabler
  }

  func sample(_ accessEnabler: AccessEnabler) -> Task<Void, Never> {
    let resources: [String] = ["resource_1", "resource_2", "resource_3"]

    let disabledFeatures: Set<PreauthorizationRequest.Feature> = [PreauthorizationRequest.Feature.LOCAL_CACHE]

    let request: PreauthorizationRequest = PreauthorizationRequest.Builder()
      .setResources(resources: resources)
      .disableFeatures(features: disabledFeatures)
      .build()

    let callback: AccessEnablerCallback<PreauthorizeResponse> = AccessEnablerCallback<PreauthorizeResponse>(
      onResponse: onResponseCallback, onFailure: onFailureCallback)

    let task = accessEnabler.preauthorize(request, callback)
    return task
  }

  /// The two callbacks as a class.
  final class Callback: AccessEnablerCallback<PreauthorizeResponse>, @unchecked Sendable {
    override func onResponse(result: PreauthorizeResponse) { Swift.print(result.getDecisions()) }
    override func onFailure(result: PreauthorizeResponse) { Swift.print(result.getStatus()?.getMessage() ?? "") }
  }

  @Sendable func onResponseCallback(result: PreauthorizeResponse) {
    for decision in result.getDecisions() {
      show(decision.getId(), decision.isAuthorized)
      if let error = decision.getError() { print("\(error.getCode()): \(error.getMessage())") }
    }
  }

  @Sendable func onFailureCallback(result: PreauthorizeResponse) {
    guard let status = result.getStatus() else { return }
    switch status.getAction() {
    case "authentication": logIn()
    case "retry", "retry-after": print("once more, later: \(status.getCode())")
    default: print("\(status.getCode()): \(status.getMessage())")
    }
  }

  func labelled(
    _ accessEnabler: AccessEnabler, _ request: PreauthorizeRequest,
    _ callback: AccessEnablerCallback<PreauthorizeResponse>
  ) {
    accessEnabler.preauthorize(request, didCompleteWith: callback)
  }

  func async(_ postern: Postern) async {
    let response = await postern.preauthorize(["resource_1", "resource_2", "resource_3"], at: "channels")
    for decision in response.decisions { show(decision.id, decision.isAuthorized) }
  }

  func purchase(_ postern: Postern, _ session: SessionHandle) -> Int {
    let count = postern.invalidateDecisions(session: session)
    return count
  }
}
