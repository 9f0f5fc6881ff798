import AuthEngine
import PosternJSON
import PosternKit
import PosternTestSupport
import Testing

@Suite("Printed values of the façade")
struct PrintedValuesTests {
  /// A callback with a secret in its outputs and its input.
  private func sample<Callback: ReadableCallback>(
    _ type: String, _ action: String, _ own: Callback.Type
  ) throws -> Callback {
    let secret = JSONValue.string(PrintedValue.secret)
    let json: JSONValue = [
      "type": .string(type),
      "output": [
        ["name": "challenge", "value": secret],
        ["name": "data", "value": ["_type": "WebAuthn", "_action": .string(action), "challenge": secret]],
      ],
      "input": [["name": "IDToken1jws", "value": secret]],
    ]
    return try #require(JourneyCallback(json).flatMap { Callback(reading: $0) })
  }

  @Test("options are printed with a secret of the environment, or a value with an inner name")
  func values() async throws {
    var options = Postern.Options()
    options.environment = ["POSTERN__ISSUERS__corp__CLIENT_SECRET": PrintedValue.secret]
    let folder = try Folder()
    let section: JSONObject = [
      "kind": "adobe-pass", "baseUrl": "https://adobe.test", "serviceProvider": "REF30",
      "softwareStatement": .string(PrintedValue.secret), "deviceIdFile": .string("\(folder.path)/device"),
    ]
    var quiet = Postern.Options()
    (quiet.environment, quiet.transport) = ([:], ScriptedTransport { _, _ in HTTPResponse(status: 404) })
    quiet.storage = PosternEngine.SessionStorage(MemoryRecordStore())
    let postern = try await Postern(
      configuration: ["preauthorization": ["tv": .object(section)]], options: quiet)
    let samples: KeyValuePairs<String, Any> = [
      "Postern.Options": options, "PosternPass": try postern.pass("tv"),
      "DeviceBindingCallback": try sample("DeviceBindingCallback", "", DeviceBindingCallback.self),
      "DeviceSigningVerifierCallback": try sample(
        "DeviceSigningVerifierCallback", "", DeviceSigningVerifierCallback.self),
      "WebAuthnRegistrationCallback": try sample(
        "MetadataCallback", "webauthn_registration", WebAuthnRegistrationCallback.self),
      "WebAuthnAuthenticationCallback": try sample(
        "MetadataCallback", "webauthn_authentication", WebAuthnAuthenticationCallback.self),
      "WebAuthnOutcome": WebAuthnOutcome.failed(name: "AbortError", message: PrintedValue.secret),
    ]
    for (name, value) in samples { #expect(PrintedValue.faults(of: value) == [], "\(name)") }
  }
}
