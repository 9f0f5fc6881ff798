public import Entitlements
public import PosternSupport

extension PreauthorizeRequest {
  /// Collects the parts of a request. Building changes nothing, so that one builder may build any number of requests.
  public final class Builder {
    private var resources: [String] = []
    private var features: Set<Feature> = []

    /// A builder without resources.
    public init() {}

    /// Sets the resources: ids or MRSS fragments.
    @discardableResult
    public func setResources(resources: [String]) -> Builder {
      self.resources = resources
      return self
    }

    /// Sets the features that are switched off.
    @discardableResult
    public func disableFeatures(features: Set<Feature>) -> Builder {
      self.features = features
      return self
    }

    /// Makes a request of the parts.
    public func build() -> PreauthorizeRequest {
      PreauthorizeRequest(resources: resources, disabledFeatures: features)
    }
  }
}

extension PreauthorizeRequest.Feature {
  // swift-format-ignore: AlwaysUseLowerCamelCase
  /// The name that the SDKs have for `localCache`.
  public static let LOCAL_CACHE = PreauthorizeRequest.Feature.localCache
  // swift-format-ignore: AlwaysUseLowerCamelCase
  /// The name that the SDKs have for `remoteCache`.
  public static let REMOTE_CACHE = PreauthorizeRequest.Feature.remoteCache
}

/// The two callbacks of a request: one of them is called, once.
public struct AccessEnablerCallback<Result: Sendable>: Sendable {
  /// The request was carried out; the result may be an error of the decision point.
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
  /// Does what the asynchronous form does, for synchronous callers. Cancelling the task ends the call early.
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

extension PreauthorizeRequest.Builder: ConciseStringConvertible {
  /// The resources.
  public var description: String { "builder of a \(build())" }
}

extension AccessEnablerCallback: ConciseStringConvertible {}
