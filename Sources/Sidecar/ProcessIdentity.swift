import PosternJSON
import PosternProtocol
import PosternSupport

/// What `getInfo` says about the process, as far as no configuration changes it.
struct ProcessIdentity: Sendable {
  let startedAt: Timestamp
  let libraries: LibraryVersions
  /// The ids of peers that are nobody's own.
  var unmapped = UnmappedIDs.none

  /// The answer, but for what changes by itself.
  func info(features: [String]) -> ProcessInfo {
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

/// What `getInfo` says under one configuration.
final class ProcessInfo: Sendable {
  private let members: JSONObject

  init(_ members: JSONObject) { self.members = members }

  /// The whole answer.
  func text(_ hardening: HardeningReport) -> JSONText {
    var members = members
    members["hardening"] = (try? JSONValueEncoder().encode(hardening.info)) ?? .null
    return JSONText(.object(members))
  }
}
