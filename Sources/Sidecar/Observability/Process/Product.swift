import Glibc
package import PosternJSON
import PosternProtocol
import PosternSupport

/// The name, version and features of this build.
package enum Product {
  /// The release (semantic versioning).
  package static var version: String { Release.version }
  /// The wire contract's version.
  package static let protocolVersion = "1.0"
  /// The features of this build, as `getInfo` returns them.
  package static let features = [
    "authenticate",
    "authenticateWithAdvice",
    "decryptJwe",
    "dpop",
    "fetchResource.clientCredentials",
    "fetchResource.credential",
    "fetchResource.implicit",
    "fetchResource.none",
    "fetchResource.onBehalfOf",
    "fetchResource.user",
    "introspectToken",
    "mtls",
    "multipart",
    "parseAdvice",
    "payloadEncryption",
    "pins",
    "preauthorize.accessManager",
    "preauthorize.adobePass",
    "preauthorize.authzen",
    "preauthorize.opa",
    "sessions",
    "streaming",
    "tasks",
    "validateAccessToken",
    "validateIdToken",
    "validateLogoutToken",
    "validateRequest",
    "verifyJws",
  ]
  /// The methods of this build, as rules of `peers` list them.
  package static let methodNames = ProtocolMethods.all.map { $0.name }
  /// The compiler this was built with, by its language version.
  package static let swiftVersion: String = {
    #if swift(>=6.4)
      "6.4 or newer"
    #elseif swift(>=6.3)
      "6.3"
    #else
      "6.2"
    #endif
  }()

  static var processID: Int32 { getpid() }

  /// The document as an answer, encoded at its first request: most processes get none, and encoding delays the start of
  /// each.
  static let openRPCText = JSONText(openRPCDocument)

  /// The OpenAPI document of this build.
  package static var openAPIDocument: JSONValue {
    OpenAPIDocument.document(methods: ProtocolMethods.descriptions, version: version)
  }

  /// The OpenRPC document of this build.
  package static var openRPCDocument: JSONValue {
    OpenRPCDocument.document(methods: ProtocolMethods.descriptions, version: version)
  }
}
