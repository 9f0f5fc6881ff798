public import Entitlements

/// The two callbacks of a request: one of them is called, once.
public struct AccessEnablerCallback<Result: Sendable>: Sendable {
  /// The request was carried out; the result may hold an error of the decision point.
  public let onResponse: @Sendable (Result) -> Void
  /// The request could not be carried out.
  public let onFailure: @Sendable (Result) -> Void

  /// Callbacks.
  public init(
    onResponse: @escaping @Sendable (Result) -> Void,
    onFailure: @escaping @Sendable (Result) -> Void
  ) {
    self.onResponse = onResponse
    self.onFailure = onFailure
  }
}

extension Preauthorizer {
  /// As the asynchronous form, for callers that are not. The task ends the call early when it is cancelled.
  @discardableResult
  public func preauthorize(
    _ request: PreauthorizeRequest, for subject: DecisionSubject, at point: DecisionPoint,
    _ callback: AccessEnablerCallback<PreauthorizeResponse>
  ) -> Task<Void, Never> {
    Task { [self] in
      let response = await preauthorize(request, for: subject, at: point)
      switch response.outcome {
      case .response: callback.onResponse(response)
      case .failure: callback.onFailure(response)
      }
    }
  }
}
