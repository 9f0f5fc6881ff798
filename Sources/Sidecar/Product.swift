import Glibc
public import PosternJSON
import PosternProtocol

/// What this build is.
public enum Product {
  /// The release (semantic versioning).
  public static let version = "0.1.0"
  /// The wire contract's version.
  public static let protocolVersion = "1.0"
  /// What this build can do, as `getInfo` tells it.
  static let features = [
    "authenticate",
    "authenticateWithAdvice",
    "decryptJwe",
    "dpop",
    "fetchResource.device",
    "fetchResource.implicit",
    "fetchResource.none",
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
    "verifyJws",
  ]
  /// The methods of this build, as rules of `peers` list them.
  public static let methodNames = ProtocolMethods.all.map { $0.name }
  /// The compiler this was built with, by its language version.
  public static let swiftVersion: String = {
    #if swift(>=6.4)
      "6.4 or newer"
    #elseif swift(>=6.3)
      "6.3"
    #else
      "6.2"
    #endif
  }()

  static var processID: Int32 { getpid() }

  /// The document as an answer, written when it is first asked for: most processes never are, and all would start
  /// later.
  static let openRPCText = JSONText(openRPCDocument)

  /// The OpenRPC document of this build.
  public static var openRPCDocument: JSONValue {
    OpenRPCDocument.document(methods: ProtocolMethods.descriptions, version: version)
  }
}
