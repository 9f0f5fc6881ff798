public import AuthEngine
public import PosternJSON
public import PosternSupport

/// A callback that has the program sign a challenge with the key of the user's device, which the program keeps.
public protocol DeviceKeyCallback: ReadableCallback {
  /// The callback in JSON.
  var callback: JourneyCallback { get set }
}

extension DeviceKeyCallback {
  /// The user whose key it is; nil where the user has not been named yet.
  public var userID: String? { callback.output("userId")?.stringValue.flatMap { $0.isEmpty ? nil : $0 } }

  /// The challenge, which the signed JWT has in `challenge`.
  public var challenge: String { callback.output("challenge")?.stringValue ?? "" }

  /// The heading of the question to the user.
  public var title: String? { callback.output("title")?.stringValue }

  /// The line below the heading.
  public var subtitle: String? { callback.output("subtitle")?.stringValue }

  /// The question to the user.
  public var prompt: String? { callback.output("description")?.stringValue }

  /// The time for the answer; nil where the access manager states none.
  public var timeout: Duration? { callback.output("timeout")?.integerValue.map { .seconds(max(0, $0)) } }

  /// Sets the JWT that the device's key has signed.
  public mutating func setJWS(_ jws: String) { callback.fillInput(endingWith: "jws", with: jws) }

  /// States why there is no JWT, in the access manager's words: `Abort`, `Timeout` or `Unsupported`.
  public mutating func setClientError(_ reason: String) {
    callback.fillInput(endingWith: "clientError", with: reason)
  }
}

/// The registration of a key for the user's device.
public struct DeviceBindingCallback: DeviceKeyCallback {
  /// The callback in JSON.
  public var callback: JourneyCallback

  /// Reads a `DeviceBindingCallback`.
  public init?(reading callback: JourneyCallback) {
    guard callback.type == "DeviceBindingCallback", callback.inputName(endingWith: "jws") != nil else { return nil }
    self.callback = callback
  }

  /// The user's name; nil where the access manager states none.
  public var username: String? { callback.output("username")?.stringValue }

  /// How the key is to be protected, in the access manager's words: `NONE`, `APPLICATION_PIN`, `BIOMETRIC_ONLY`.
  public var authenticationType: String? { callback.output("authenticationType")?.stringValue }

  /// Sets the device's name, for the list that the user sees.
  public mutating func setDeviceName(_ name: String) { callback.fillInput(endingWith: "deviceName", with: name) }

  /// Sets the identifier of the device.
  public mutating func setDeviceID(_ identifier: String) {
    callback.fillInput(endingWith: "deviceId", with: identifier)
  }
}

/// A signature by a registered key of the user's device.
public struct DeviceSigningVerifierCallback: DeviceKeyCallback {
  /// The callback in JSON.
  public var callback: JourneyCallback

  /// Reads a `DeviceSigningVerifierCallback`.
  public init?(reading callback: JourneyCallback) {
    guard callback.type == "DeviceSigningVerifierCallback", callback.inputName(endingWith: "jws") != nil else {
      return nil
    }
    self.callback = callback
  }
}

/// The options of a WebAuthn ceremony, which an authenticator of the program carries out. Its result is
/// `JourneyNode.setWebAuthnOutcome(_:)`.
public protocol WebAuthnCallback: ReadableCallback {}

extension WebAuthnCallback {
  /// All options, as the access manager writes them. Where it has an option as text and, with `_` before its name, as
  /// JSON, both are there.
  public var options: JSONObject { callback.output("data")?.objectValue ?? JSONObject() }

  /// The option of that name, as JSON where the access manager has it so; nil for none.
  public func option(_ name: String) -> JSONValue? { options["_\(name)"] ?? options[name] }

  /// The challenge in base64.
  public var challenge: String { options["challenge"]?.stringValue ?? "" }

  /// The relying party's identifier: a domain; nil where the access manager states none.
  public var relyingPartyID: String? { options["_relyingPartyId"]?.stringValue }
}

/// The registration of a WebAuthn credential.
public struct WebAuthnRegistrationCallback: WebAuthnCallback {
  /// The callback in JSON.
  public let callback: JourneyCallback

  /// Reads a `MetadataCallback` with the options of a registration.
  public init?(reading callback: JourneyCallback) {
    guard callback.isWebAuthn("webauthn_registration", with: "pubKeyCredParams") else { return nil }
    self.callback = callback
  }

  /// The user's name.
  public var userName: String? { options["userName"]?.stringValue }

  /// The user's handle.
  public var userID: String? { options["userId"]?.stringValue }
}

/// The use of a WebAuthn credential.
public struct WebAuthnAuthenticationCallback: WebAuthnCallback {
  /// The callback in JSON.
  public let callback: JourneyCallback

  /// Reads a `MetadataCallback` with the options of an authentication.
  public init?(reading callback: JourneyCallback) {
    guard callback.isWebAuthn("webauthn_authentication", with: "allowCredentials") else { return nil }
    self.callback = callback
  }
}

extension JourneyCallback {
  /// Whether it has the options of that WebAuthn ceremony; an access manager that does not name it is known by `option`.
  fileprivate func isWebAuthn(_ action: String, with option: String) -> Bool {
    guard type == "MetadataCallback", let data = output("data"), data["_type"]?.stringValue == "WebAuthn" else {
      return false
    }
    return data["_action"].map { $0.stringValue == action } ?? (data[option] != nil)
  }
}

/// What an authenticator made of a WebAuthn ceremony.
public enum WebAuthnOutcome: Sendable, Hashable {
  /// A new credential; `deviceName` is for the list that the user sees.
  case registered(
    clientDataJSON: [UInt8], attestationObject: [UInt8], credentialID: String, deviceName: String? = nil)
  /// A signature by a credential; `userHandle` is the user's, where the credential has it.
  case authenticated(
    clientDataJSON: [UInt8], authenticatorData: [UInt8], signature: [UInt8], credentialID: String,
    userHandle: String? = nil)
  /// There is no authenticator.
  case unsupported
  /// The ceremony failed: the name of the DOM exception, such as `NotAllowedError`, and its message.
  case failed(name: String, message: String)

  /// The access manager's text for it.
  fileprivate var text: String {
    func numbers(_ bytes: [UInt8]) -> String { bytes.map { "\(Int8(bitPattern: $0))" }.joined(separator: ",") }
    func parts(_ client: [UInt8], _ others: [String?]) -> String {
      ([String(decoding: client, as: UTF8.self)] + others.compactMap { $0 }).joined(separator: "::")
    }
    return switch self {
    case .registered(let client, let attestation, let credential, let name):
      parts(client, [numbers(attestation), credential, name])
    case .authenticated(let client, let data, let signature, let credential, let user):
      parts(client, [numbers(data), numbers(signature), credential, user])
    case .unsupported: "unsupported"
    case .failed(let name, let message): "ERROR::\(name):\(message)"
    }
  }
}

extension WebAuthnOutcome: ConciseStringConvertible {
  /// The kind.
  public var description: String {
    switch self {
    case .registered: "registered"
    case .authenticated: "authenticated"
    case .unsupported: "unsupported"
    case .failed(let name, _): "failed: \(Concise.name(name))"
    }
  }
}

extension JourneyNode {
  /// Sets the outcome of a WebAuthn ceremony, in the step's hidden value for it. Throws where the step has none.
  public mutating func setWebAuthnOutcome(_ outcome: WebAuthnOutcome) throws(JourneyError) {
    for index in callbacks.indices {
      guard var hidden = callbacks[index] as? HiddenValueCallback, hidden.id == "webAuthnOutcome" else { continue }
      hidden.setValue(outcome.text)
      callbacks[index] = hidden
      return
    }
    throw JourneyError(.invalid(path: ["callbacks"]), "the step has no hidden value webAuthnOutcome")
  }
}
