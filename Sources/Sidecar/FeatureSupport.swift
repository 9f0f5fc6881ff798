import Configuration

/// What a configuration asks for that this release does not do yet.
///
/// Where leaving it out would make a fetch less safe than its configuration says, the resource is refused; the rest is a note.
struct FeatureSupport {
  private(set) var notes: [String] = []
  private(set) var refusedResources: [String: String] = [:]

  init(_ configuration: PosternConfiguration) {
    for (name, resource) in configuration.resources.sorted(by: { $0.key < $1.key }) {
      for (key, isUsed) in Self.protections(resource) where isUsed { refuse(name, key) }
    }
    if !configuration.preauthorization.isEmpty { notes.append("preauthorization is not in this release") }
    if configuration.http.listen != nil { notes.append("http.listen is not in this release") }
  }

  private mutating func refuse(_ resource: String, _ key: String) {
    let reason =
      "resources.\(resource): \(key) is not in this release, and without it the fetch would be less safe than configured"
    notes.append(reason + "; it is refused")
    refusedResources[resource] = refusedResources[resource] ?? reason
  }

  private static func protections(_ resource: ResourceConfiguration) -> [(String, Bool)] {
    [("payloadEncryption", resource.payloadEncryption != nil)]
  }
}
