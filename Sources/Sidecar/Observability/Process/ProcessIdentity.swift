package import PosternJSON
import PosternProtocol
package import PosternSupport

/// The part of `getInfo` about the process that no configuration changes.
package struct ProcessIdentity: Sendable {
  package let startedAt: Timestamp
  package let libraries: LibraryVersions
  /// The ids of peers that a user namespace does not map, and that several users may have in common.
  package var unmapped = UnmappedIDs.none

  package init(startedAt: Timestamp, libraries: LibraryVersions, unmapped: UnmappedIDs = UnmappedIDs.none) {
    self.startedAt = startedAt
    self.libraries = libraries
    self.unmapped = unmapped
  }

  /// The answer, but for what changes by itself.
  package func info(features: [String]) -> ProcessInfo {
    let libraries: JSONObject = [
      "curl": .string(libraries.curl), "openssl": .string(libraries.openssl), "jansson": .string(libraries.jansson),
      "swift": .string(libraries.swift),
    ]
    return ProcessInfo([
      "name": "postern", "version": .string(Product.version), "protocolVersion": .string(Product.protocolVersion),
      "pid": .integer(Int64(Product.processID)), "startedAt": .string(startedAt.rfc3339),
      "libraries": .object(libraries), "features": .array(features.map(JSONValue.string)),
    ])
  }
}

/// The answer to `getInfo` under one configuration.
package final class ProcessInfo: Sendable {
  private let members: JSONObject

  package init(_ members: JSONObject) { self.members = members }

  /// The whole answer.
  package func text(_ hardening: HardeningReport) -> JSONText {
    var members = members
    members["hardening"] = (try? JSONValueEncoder().encode(hardening.info)) ?? .null
    return JSONText(.object(members))
  }
}
