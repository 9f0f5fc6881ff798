import Configuration

/// What a configuration asks for that this release does not do yet.
struct FeatureSupport {
  private(set) var notes: [String] = []

  init(_ configuration: PosternConfiguration) {
    for (name, provider) in configuration.preauthorization.sorted(by: { $0.key < $1.key })
    where provider.kind == .adobePass {
      notes.append("preauthorization.\(name): kind \(provider.kind.rawValue) is not in this release")
    }
  }
}
