import PosternKit

/// The code of proto-docs/migration/adobe-pass.md; a test compares the page with it.
struct MigrationAdobePass {
  let show: @Sendable (_ id: String, _ isAuthorized: Bool) -> Void
  let logIn: @Sendable () -> Void

  func enabler() async throws -> AccessEnabler {
    let postern = try await Postern(configuration: "postern.yaml")
    let accessEnabler = try await postern.accessEnabler(at: "channels")
    return accessEnabler
  }

  func sample(_ accessEnabler: AccessEnabler) {
    let resources: [String] = ["resource_1", "resource_2", "resource_3"]

    let disabledFeatures: Set<PreauthorizationRequest.Feature> = [PreauthorizationRequest.Feature.LOCAL_CACHE]

    let request: PreauthorizationRequest = PreauthorizationRequest.Builder()
      .setResources(resources: resources)
      .disableFeatures(features: disabledFeatures)
      .build()

    let callback: AccessEnablerCallback<PreauthorizeResponse> = AccessEnablerCallback<PreauthorizeResponse>(
      onResponse: onResponseCallback, onFailure: onFailureCallback)

    accessEnabler.preauthorize(request, callback)
  }

  @Sendable func onResponseCallback(result: PreauthorizeResponse) {
    for decision in result.getDecisions() {
      show(decision.getId(), decision.isAuthorized)
      if let error = decision.getError() { print(error.getCode(), error.getMessage(), error.getDetails() ?? "") }
    }
  }

  @Sendable func onFailureCallback(result: PreauthorizeResponse) {
    guard let status = result.getStatus() else { return }
    switch status.getAction() {
    case "authentication": logIn()
    case "retry", "retry-after": print("once more, later: \(status.getCode())")
    default: print(status.getStatus(), status.getCode(), status.getTrace() ?? "")
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

  func purchase(_ postern: Postern, _ session: SessionHandle) {
    postern.invalidateDecisions(session: session)
  }
}
