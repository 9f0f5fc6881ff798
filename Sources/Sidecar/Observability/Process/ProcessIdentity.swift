package import PosternJSON
package import PosternProtocol
package import PosternSupport

/// The part of `getInfo` about the process that no configuration changes.
package struct ProcessIdentity: Sendable {
  package let startedAt: Timestamp
  package let libraries: GetInfo.Libraries
  /// The ids of peers that a user namespace does not map, and that several users may have in common.
  package var unmapped = UnmappedIDs.none

  package init(startedAt: Timestamp, libraries: GetInfo.Libraries, unmapped: UnmappedIDs = UnmappedIDs.none) {
    self.startedAt = startedAt
    self.libraries = libraries
    self.unmapped = unmapped
  }

  /// The answer, but for what changes by itself.
  package func info(features: [String]) -> ProcessInfo { ProcessInfo(self, features: features) }
}

/// The answer to `getInfo` under one configuration.
package final class ProcessInfo: Sendable {
  private let identity: ProcessIdentity
  private let features: [String]

  fileprivate init(_ identity: ProcessIdentity, features: [String]) {
    self.identity = identity
    self.features = features
  }

  /// The whole answer.
  package func text(_ hardening: HardeningReport) -> JSONText {
    let result = GetInfo.Result(
      name: "postern", version: Product.version, protocolVersion: Product.protocolVersion,
      pid: Int(Product.processID), startedAt: identity.startedAt.rfc3339, libraries: identity.libraries,
      features: features, hardening: hardening.info)
    return JSONText((try? JSONValueEncoder().encode(result)) ?? .null)
  }
}
