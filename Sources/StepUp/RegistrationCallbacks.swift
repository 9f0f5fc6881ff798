public import PosternJSON
public import PosternSupport

/// A callback of a registration: an attribute of the user's profile, which has to meet the access manager's policies.
public protocol AttributeCallback: TypedCallback {
  /// Sets whether the value is only checked against the policies, and not yet saved. Throws where the callback has no
  /// such input.
  mutating func setValidateOnly(_ isOn: Bool) throws(JourneyError)
}

extension AttributeCallback {
  /// The question to the user.
  public var prompt: String { callback.prompt ?? "" }

  /// The name of the attribute; nil when the access manager gives none.
  public var name: String? { callback.output("name")?.stringValue }

  /// Whether a value is required.
  public var isRequired: Bool { callback.isRequired }

  /// The policies, as the access manager writes them; nil for none.
  public var policies: JSONValue? { callback.output("policies") }

  /// The policies that the last value violated.
  public var failedPolicies: [JourneyCallback.FailedPolicy] { callback.failedPolicies }
}

/// A new user name.
public struct ValidatedCreateUsernameCallback: AttributeCallback, KnownCallback {
  /// The callback in JSON.
  public private(set) var callback: JourneyCallback

  init?(_ callback: JourneyCallback) {
    guard callback.isA(Self.self, inputs: "") else { return nil }
    self.callback = callback
  }

  /// Sets the name.
  public mutating func setValue(_ name: String) { callback.fill(with: .string(name)) }

  /// Sets whether the value is only checked against the policies.
  public mutating func setValidateOnly(_ isOn: Bool) throws(JourneyError) { try callback.setValidateOnly(isOn) }
}

/// A new password. It is kept as a `Secret` until it is sent.
public struct ValidatedCreatePasswordCallback: AttributeCallback, KnownCallback {
  private var password: Secret<String>?
  /// The callback in JSON.
  public private(set) var callback: JourneyCallback

  init?(_ callback: JourneyCallback) {
    guard callback.isA(Self.self, inputs: "") else { return nil }
    self.callback = callback
  }

  /// The callback as it is sent, with the password.
  public var filled: JourneyCallback { callback.filling(with: password) }

  /// Whether the password may be shown while it is entered.
  public var isEchoOn: Bool { callback.output("echoOn")?.boolValue ?? false }

  /// Sets the password.
  public mutating func setValue(_ password: Secret<String>) { self.password = password }

  /// Sets the password.
  public mutating func setValue(_ password: String) { self.password = Secret(password) }

  /// Sets whether the value is only checked against the policies.
  public mutating func setValidateOnly(_ isOn: Bool) throws(JourneyError) { try callback.setValidateOnly(isOn) }
}

/// An attribute that is text.
public struct StringAttributeInputCallback: AttributeCallback, KnownCallback {
  /// The callback in JSON.
  public private(set) var callback: JourneyCallback

  init?(_ callback: JourneyCallback) {
    guard callback.isA(Self.self, inputs: "") else { return nil }
    self.callback = callback
  }

  /// The current value.
  public var value: String? { callback.output("value")?.stringValue }

  /// Sets the value.
  public mutating func setValue(_ value: String) { callback.fill(with: .string(value)) }

  /// Sets whether the value is only checked against the policies.
  public mutating func setValidateOnly(_ isOn: Bool) throws(JourneyError) { try callback.setValidateOnly(isOn) }
}

/// An attribute that is a number.
public struct NumberAttributeInputCallback: AttributeCallback, KnownCallback {
  /// The callback in JSON.
  public private(set) var callback: JourneyCallback

  init?(_ callback: JourneyCallback) {
    guard callback.isA(Self.self, inputs: "") else { return nil }
    self.callback = callback
  }

  /// The current value.
  public var value: Double? { callback.output("value")?.numberValue }

  /// Sets the value. Throws for infinity and NaN, which JSON cannot express.
  public mutating func setValue(_ value: Double) throws(JourneyError) {
    guard value.isFinite else { throw callback.rejection("the value is no number that JSON can express") }
    callback.fill(with: Int64(exactly: value).map(JSONValue.integer) ?? .real(value))
  }

  /// Sets whether the value is only checked against the policies.
  public mutating func setValidateOnly(_ isOn: Bool) throws(JourneyError) { try callback.setValidateOnly(isOn) }
}

/// An attribute that is true or false.
public struct BooleanAttributeInputCallback: AttributeCallback, KnownCallback {
  /// The callback in JSON.
  public private(set) var callback: JourneyCallback

  init?(_ callback: JourneyCallback) {
    guard callback.isA(Self.self, inputs: "") else { return nil }
    self.callback = callback
  }

  /// The current value.
  public var value: Bool? { callback.output("value")?.boolValue }

  /// Sets the value.
  public mutating func setValue(_ value: Bool) { callback.fill(with: .bool(value)) }

  /// Sets whether the value is only checked against the policies.
  public mutating func setValidateOnly(_ isOn: Bool) throws(JourneyError) { try callback.setValidateOnly(isOn) }
}

/// A security question of the user, with its answer. The answer is kept as a `Secret` until it is sent.
public struct KbaCreateCallback: TypedCallback, KnownCallback {
  private var answer: Secret<String>?
  /// The callback in JSON.
  public private(set) var callback: JourneyCallback

  init?(_ callback: JourneyCallback) {
    guard callback.isA(Self.self, inputs: "question", "answer") else { return nil }
    self.callback = callback
  }

  /// The callback as it is sent, with the answer.
  public var filled: JourneyCallback { callback.filling("answer", with: answer) }

  /// The question to the user.
  public var prompt: String { callback.prompt ?? "" }

  /// The questions to choose from.
  public var predefinedQuestions: [String] { callback.predefinedQuestions }

  /// Whether the user may write a question of their own. The access manager that does not state it permits it.
  public var allowsUserDefinedQuestions: Bool { callback.output("allowUserDefinedQuestions")?.boolValue ?? true }

  /// Sets the question. Throws when it is not one of `predefinedQuestions`, where no others are allowed.
  public mutating func setQuestion(_ question: String) throws(JourneyError) {
    guard allowsUserDefinedQuestions || predefinedQuestions.contains(question) else {
      throw callback.rejection("no question has that text")
    }
    callback.fill(suffix: "question", with: .string(question))
  }

  /// Sets the answer.
  public mutating func setAnswer(_ answer: Secret<String>) { self.answer = answer }

  /// Sets the answer.
  public mutating func setAnswer(_ answer: String) { self.answer = Secret(answer) }
}

/// Terms to accept.
public struct TermsAndConditionsCallback: TypedCallback, KnownCallback {
  /// The callback in JSON.
  public private(set) var callback: JourneyCallback

  init?(_ callback: JourneyCallback) {
    guard callback.isA(Self.self, inputs: "") else { return nil }
    self.callback = callback
  }

  /// The terms.
  public var terms: String { callback.terms ?? "" }

  /// Their version.
  public var version: String? { callback.output("version")?.stringValue }

  /// Their date, as the access manager writes it.
  public var createDate: String? { callback.output("createDate")?.stringValue }

  /// Sets whether the user accepts them.
  public mutating func setValue(_ isAccepted: Bool) { callback.fill(with: .bool(isAccepted)) }
}

/// Consent to sharing attributes with another system.
public struct ConsentMappingCallback: TypedCallback, KnownCallback {
  /// The callback in JSON.
  public private(set) var callback: JourneyCallback

  init?(_ callback: JourneyCallback) {
    guard callback.isA(Self.self, inputs: "") else { return nil }
    self.callback = callback
  }

  /// The name of the mapping.
  public var name: String? { callback.output("name")?.stringValue }

  /// The name to show.
  public var displayName: String? { callback.output("displayName")?.stringValue }

  /// How much is shared.
  public var accessLevel: String? { callback.output("accessLevel")?.stringValue }

  /// The attributes that are shared.
  public var fields: [String] { (callback.output("fields")?.arrayValue ?? []).compactMap(\.stringValue) }

  /// Whether the journey goes on with consent only.
  public var isRequired: Bool { callback.isRequired }

  /// The message to the user.
  public var message: String { callback.message ?? "" }

  /// Sets whether the user consents.
  public mutating func setValue(_ isGiven: Bool) { callback.fill(with: .bool(isGiven)) }
}

/// A choice of an identity provider.
public struct SelectIdPCallback: TypedCallback, KnownCallback {
  /// The callback in JSON.
  public private(set) var callback: JourneyCallback

  init?(_ callback: JourneyCallback) {
    guard callback.isA(Self.self, inputs: "") else { return nil }
    self.callback = callback
  }

  /// The names of the providers.
  public var providers: [String] { callback.providers }

  /// Chooses a provider by its name. Throws when there is none of that name.
  public mutating func setValue(_ provider: String) throws(JourneyError) {
    guard providers.contains(provider) else { throw callback.rejection("no provider has that name") }
    callback.fill(with: .string(provider))
  }
}

/// A login at an identity provider by the program itself, whose token is sent to the access manager.
public struct IdPCallback: TypedCallback, KnownCallback {
  private var token: Secret<String>?
  /// The callback in JSON.
  public private(set) var callback: JourneyCallback

  init?(_ callback: JourneyCallback) {
    guard callback.isA(Self.self, inputs: "token", "token_type") else { return nil }
    self.callback = callback
  }

  /// The callback as it is sent, with the token.
  public var filled: JourneyCallback { callback.filling("token", with: token) }

  /// The provider's name.
  public var provider: String { callback.output("provider")?.stringValue ?? "" }

  /// The client that the token must be for.
  public var clientID: String? { callback.output("clientId")?.stringValue }

  /// The redirect URI of that client.
  public var redirectURI: String? { callback.output("redirectUri")?.stringValue }

  /// The scopes of the login.
  public var scopes: [String] { (callback.output("scopes")?.arrayValue ?? []).compactMap(\.stringValue) }

  /// The nonce of the login.
  public var nonce: String? { callback.output("nonce")?.stringValue }

  /// The authentication contexts of the login.
  public var acrValues: [String] { (callback.output("acrValues")?.arrayValue ?? []).compactMap(\.stringValue) }

  /// Sets the token and its type, such as `id_token`. The token is kept as a `Secret` until it is sent.
  public mutating func setToken(_ token: Secret<String>, type: String) {
    self.token = token
    callback.fill(suffix: "token_type", with: .string(type))
  }
}

/// A description of the user's device.
public struct DeviceProfileCallback: TypedCallback, KnownCallback {
  /// The callback in JSON.
  public private(set) var callback: JourneyCallback

  init?(_ callback: JourneyCallback) {
    guard callback.isA(Self.self, inputs: "") else { return nil }
    self.callback = callback
  }

  /// The message to the user.
  public var message: String { callback.message ?? "" }

  /// Whether facts about the device are wanted.
  public var isMetadataRequired: Bool { callback.output("metadata")?.boolValue ?? false }

  /// Whether the location is wanted.
  public var isLocationRequired: Bool { callback.output("location")?.boolValue ?? false }

  /// Sets the profile: `identifier`, and `metadata` and `location` where they are wanted.
  public mutating func setValue(_ profile: JSONObject) {
    callback.fill(with: .string(String(decoding: JSONWriter().write(.object(profile)), as: UTF8.self)))
  }
}

/// A captcha of reCAPTCHA or hCaptcha, which a page of the program shows.
public struct ReCaptchaCallback: TypedCallback, KnownCallback {
  /// The callback in JSON.
  public private(set) var callback: JourneyCallback

  init?(_ callback: JourneyCallback) {
    guard callback.isA(Self.self, inputs: "") else { return nil }
    self.callback = callback
  }

  /// The site key.
  public var siteKey: String { callback.output("recaptchaSiteKey")?.stringValue ?? "" }

  /// Sets the token that the captcha gave.
  public mutating func setValue(_ token: String) { callback.fill(with: .string(token)) }
}

/// A captcha of reCAPTCHA Enterprise, which a page of the program shows.
public struct ReCaptchaEnterpriseCallback: TypedCallback, KnownCallback {
  /// The callback in JSON.
  public private(set) var callback: JourneyCallback

  init?(_ callback: JourneyCallback) {
    guard callback.isA(Self.self, inputs: "token") else { return nil }
    self.callback = callback
  }

  /// The site key.
  public var siteKey: String { callback.output("recaptchaSiteKey")?.stringValue ?? "" }

  /// Sets the token that the captcha gave, and the name of the action that it was for.
  public mutating func setValue(_ token: String, action: String? = nil) {
    callback.fill(suffix: "token", with: .string(token))
    if let action { callback.fill(suffix: "action", with: .string(action)) }
  }

  /// Reports that there is no token, with the reason.
  public mutating func setClientError(_ reason: String) {
    callback.fill(suffix: "clientError", with: .string(reason))
  }
}
