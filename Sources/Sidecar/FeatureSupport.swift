import PosternConfiguration

/// What a configuration asks for that this release does not do yet, or that does not go well together.
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
