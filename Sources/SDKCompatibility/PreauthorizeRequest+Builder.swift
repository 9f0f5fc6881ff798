public import Entitlements

extension PreauthorizeRequest {
  /// Collects what goes into a request. Building changes nothing, so that one builder may build any number of them.
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

    /// Sets what is switched off.
    @discardableResult
    public func disableFeatures(features: Set<Feature>) -> Builder {
      self.features = features
      return self
    }

    /// A new request of what was set.
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
