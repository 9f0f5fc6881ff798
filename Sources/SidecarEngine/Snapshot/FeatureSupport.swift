import PosternConfiguration

/// Warnings about combinations of settings that do not work well.
struct FeatureSupport {
  private(set) var notes: [String] = []

  init(_ configuration: PosternConfiguration) {
    for (name, provider) in configuration.preauthorization.sorted(by: { $0.key < $1.key })
    where provider.kind == .adobePass && configuration.store.kind == .memory {
      notes.append(
        "preauthorization.\(name): with store.kind memory every start registers a new client, which costs users their logins"
      )
    }
  }
}
