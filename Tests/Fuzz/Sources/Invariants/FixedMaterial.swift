import Foundation
import JOSE
import PosternCrypto
import PosternJSON
import PosternSupport

/// The keys that inputs are judged by, and the tokens that are known to be genuine under them: those of
/// `JOSETests/Vectors`.
struct FixedMaterial: Sendable {
  static let shared = FixedMaterial()
  static let clientSecret = "0123456789abcdef0123456789abcdef-client-secret-of-64-bytes-or-so"

  /// Private and symmetric keys of every kind.
  let keys: [JWK]
  /// Every token of the vector files.
  let genuine: Set<String>
  /// The public half of the first key of every kind that signs, each with its `crv` (or `RSA`) as `kid`.
  let published: JWKSet

  private init() {
    var keys: [JWK] = []
    var published: [JWK] = []
    var genuine: Set<String> = []
    var seen: Set<String> = []
    for vector in ["interop-jws", "interop-jwe", "rfc-jws", "rfc-jwe"].flatMap(Self.load) {
      genuine.insert(vector["token"]?.stringValue ?? "")
      guard let members = vector["key"]?.objectValue, let key = try? JWK(json: members) else { continue }
      // The private operation of a 4096-bit key would slow everything down.
      guard (members["n"]?.stringValue ?? "").utf8.count < 500 else { continue }
      guard seen.insert(key.thumbprint ?? members["k"]?.stringValue ?? "").inserted else { continue }
      keys.append(key)
      let name = members["crv"]?.stringValue ?? key.keyType.rawValue
      guard name != "X25519", let half = key.publicKey, !published.contains(where: { $0.keyID == name }) else {
        continue
      }
      published.append(half.identified(by: name))
    }
    self.keys = keys
    self.genuine = genuine
    self.published = JWKSet(published)
  }

  /// The key that signs composed tokens which do not ask for HMAC.
  var signer: EdwardsPrivateKey? {
    for key in keys { if case .edwardsPrivate(let key) = key.material, key.publicKey.curve == .ed25519 { return key } }
    return nil
  }

  private static func load(_ name: String) -> [JSONObject] {
    let file = tests.appending(path: "JOSETests/Vectors/\(name).json")
    guard let text = try? Data(contentsOf: file), let value = try? JSONParser().parse(Array(text)) else { return [] }
    return (value.arrayValue ?? []).compactMap(\.objectValue)
  }

  /// The folder `Tests`, wherever this file is compiled.
  static let tests: URL = {
    var folder = URL(filePath: #filePath).deletingLastPathComponent()
    while folder.lastPathComponent != "Tests", folder.pathComponents.count > 1 { folder.deleteLastPathComponent() }
    return folder
  }()
}
