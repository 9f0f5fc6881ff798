import JSON
import Protocol
import Support

/// What `getInfo` says about the process, as far as no configuration changes it.
struct ProcessIdentity: Sendable {
  let startedAt: Timestamp
  let libraries: LibraryVersions

  /// The whole answer, written once per configuration.
  func info(features: [String]) -> JSONText {
    let libraries: JSONObject = [
      "curl": .string(libraries.curl), "openssl": .string(libraries.openssl), "jansson": .string(libraries.jansson),
      "swift": .string(libraries.swift),
    ]
    return JSONText([
      "name": "postern", "version": .string(Product.version), "protocolVersion": .string(Product.protocolVersion),
      "pid": .integer(Int64(Product.processID)), "startedAt": .string(startedAt.rfc3339),
      "libraries": .object(libraries), "features": .array(features.map(JSONValue.string)),
    ])
  }
}
