import Configuration

/// What a configuration asks for that this release does not do yet.
///
/// Where leaving it out would make a fetch less safe than its configuration says, the resource is refused; the rest is a note.
struct FeatureSupport {
  private(set) var notes: [String] = []
  private(set) var refusedResources: [String: String] = [:]
  private(set) var refusedIssuers: [String: String] = [:]

  init(_ configuration: PosternConfiguration) {
    for (name, resource) in configuration.resources.sorted(by: { $0.key < $1.key }) {
      for (key, isUsed) in Self.protections(resource, configuration) where isUsed { refuse(name, key) }
    }
    for (name, issuer) in configuration.issuers.sorted(by: { $0.key < $1.key }) {
      if issuer.clientAuth == .tlsClientAuth {
        notes.append(
          "issuers.\(name).clientAuth: \(issuer.clientAuth.rawValue) is not in this release; its tokens cannot be had")
      }
      if !issuer.tls.pins.isEmpty {
        let reason =
          "issuers.\(name): tls.pins is not in this release, and without it the issuer would be trusted more than configured"
        notes.append(reason + "; it is not asked")
        refusedIssuers[name] = reason
      }
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

  private static func protections(
    _ resource: ResourceConfiguration, _ configuration: PosternConfiguration
  ) -> [(String, Bool)] {
    let issuerPins = resource.issuer.flatMap { configuration.issuers[$0]?.tls.pins } ?? []
    return [
      ("tls.pins", !resource.tls.trust.pins.isEmpty),
      ("its issuer's tls.pins", !issuerPins.isEmpty && resource.auth != .none),
      ("tls.clientCertificateFile", resource.tls.clientCertificateFile != nil),
      ("senderConstraint: \(resource.senderConstraint.rawValue)", resource.senderConstraint == .mtls),
      ("payloadEncryption", resource.payloadEncryption != nil),
    ]
  }
}
