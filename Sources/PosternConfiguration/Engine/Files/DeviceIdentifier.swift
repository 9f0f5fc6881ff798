import Glibc
import PosternJSON
package import PosternSupport

/// A decision point's device: the id that its users' logins are tied to, from its file.
package struct DeviceIdentifier: Sendable {
  /// The id.
  package let value: Secret<String>
  /// Where it is kept, when it has just been made there.
  private let madeAt: String?

  /// The ids of all decision points that need one, by name. A missing file is made, or with `makingMissing` off only
  /// looked whether it could be.
  package static func all(
    in configuration: PosternConfiguration, makingMissing: Bool
  ) throws(ConfigurationProblems) -> [String: DeviceIdentifier] {
    var problems: [ConfigurationProblem] = []
    var identifiers: [String: DeviceIdentifier] = [:]
    for (name, given) in configuration.preauthorization where given.kind == .adobePass {
      guard let path = given.adobePass.deviceIDFile else { continue }
      do throws(DeviceIdentifierFile.Failure) {
        let file = DeviceIdentifierFile(path: path)
        let found = makingMissing ? try file.readOrMake() : try file.readOrTry()
        identifiers[name] = DeviceIdentifier(value: Secret(found.text), madeAt: found.isNew ? path : nil)
      } catch {
        problems.append(
          ConfigurationProblem(
            file: "configuration", keyPath: "preauthorization.\(name).deviceIdFile", message: error.message))
      }
    }
    guard problems.isEmpty else { throw ConfigurationProblems(problems) }
    return identifiers
  }

  /// The note about a new id.
  package func note(of name: String) -> String? {
    madeAt.map {
      "preauthorization.\(name): a new device id was made in \($0); logins are tied to it: keep the file"
    }
  }

  /// The members of `X-Device-Info`: the configured ones, and for the others those of this Linux machine.
  func information(_ given: [String: String]) -> JSONObject {
    var members = [
      "model": "Postern", "version": Release.version, "osName": "Linux", "connectionType": "Unknown",
      "primaryHardwareType": "Unknown",
    ]
    var system = utsname()
    if uname(&system) == 0 {
      members["osVersion"] = withUnsafeBytes(of: &system.release) { release in
        String(decoding: release.prefix { $0 != 0 }, as: UTF8.self)
      }
    }
    members.merge(given) { $1 }
    return JSONObject(members.sorted { $0.key < $1.key }.map { ($0.key, JSONValue.string($0.value)) })
  }
}
