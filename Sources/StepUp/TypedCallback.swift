import OAuthClient
public import PosternJSON
public import PosternSupport

/// A callback of one type: its outputs as properties, and setters for its inputs.
///
/// A value around the access manager's own JSON. A setter writes the input that belongs to it and nothing else: the
/// outputs are sent back as they came, because the access manager compares them. What a user entered is neither in the
/// description nor in what `dump` prints.
public protocol TypedCallback: Sendable, ConciseStringConvertible, CustomDebugStringConvertible {
  /// The callback in JSON, with the inputs that were set, except secret ones.
  var callback: JourneyCallback { get }

  /// The callback as it is sent, with all inputs that were set: a password is in ordinary memory then. Call it where
  /// the callback is sent, never earlier.
  var filled: JourneyCallback { get }
}

extension TypedCallback {
  /// The access manager's name of the type: `NameCallback`.
  public var type: String { callback.type }

  /// The callback as it is sent: itself, where no input is secret.
  public var filled: JourneyCallback { callback }

  /// The type, and the question or message to the user.
  public var description: String {
    let text =
      callback.prompt ?? (callback.messageType == JourneyCallback.MessageType.script.rawValue ? nil : callback.message)
    return Concise.text(text.map { "\(Concise.name(type)): \(Concise.name($0))" } ?? Concise.name(type))
  }

  /// The description.
  public var debugDescription: String { description }
}

/// A callback of a type that is known here. The types are named as the access manager names them.
protocol KnownCallback: TypedCallback {
  /// Reads a callback; nil when it is of another type, or lacks what its type has.
  init?(_ callback: JourneyCallback)
}

extension KnownCallback {
  static var typeName: String { String(describing: Self.self) }
}

/// A callback of any type, as the access manager wrote it: the form of types that have no other.
extension JourneyCallback: TypedCallback {
  private static let types: [any KnownCallback.Type] = [
    NameCallback.self, PasswordCallback.self, TextInputCallback.self, HiddenValueCallback.self, ChoiceCallback.self,
    ConfirmationCallback.self, TextOutputCallback.self, SuspendedTextOutputCallback.self, PollingWaitCallback.self,
    RedirectCallback.self, MetadataCallback.self, ValidatedCreateUsernameCallback.self,
    ValidatedCreatePasswordCallback.self, StringAttributeInputCallback.self, NumberAttributeInputCallback.self,
    BooleanAttributeInputCallback.self, KbaCreateCallback.self, TermsAndConditionsCallback.self,
    ConsentMappingCallback.self, SelectIdPCallback.self, IdPCallback.self, DeviceProfileCallback.self,
    ReCaptchaCallback.self, ReCaptchaEnterpriseCallback.self,
  ]
  private static let typesByName = Dictionary(uniqueKeysWithValues: types.map { ($0.typeName, $0) })

  /// The kind of a message.
  public enum MessageType: Int, Sendable, Hashable, CaseIterable {
    /// Information.
    case information = 0
    /// A warning.
    case warning = 1
    /// An error.
    case error = 2
    /// A script for a browser. Postern runs none.
    case script = 4
  }

  /// The callback itself.
  public var callback: JourneyCallback { self }

  /// The callback as a value of its type, such as `NameCallback`; itself where its type is not known here, or it lacks
  /// what its type has.
  public var typed: any TypedCallback { Self.typesByName[type]?.init(self) ?? self }

  /// Whether it is of the type `expected`, with an input for each of `suffixes`: what is behind `IDToken1` in the name.
  func isA(_ expected: (some KnownCallback).Type, inputs suffixes: String...) -> Bool {
    type == expected.typeName
      && suffixes.allSatisfy { suffix in inputNames.contains { $0.endsWithBytes(of: suffix) } }
  }

  /// Fills the input whose name ends with `suffix`, if there is one.
  mutating func fill(suffix: String, with value: JSONValue) {
    if let name = inputNames.first(where: { $0.endsWithBytes(of: suffix) }) { fill(name, with: value) }
  }

  /// Sets whether the input is only checked against the policies, where the callback can do that.
  mutating func setValidateOnly(_ isOn: Bool) throws(JourneyError) {
    guard inputNames.contains(where: { $0.endsWithBytes(of: "validateOnly") }) else {
      throw rejection("its input cannot be checked without being submitted")
    }
    fill(suffix: "validateOnly", with: .bool(isOn))
  }

  /// Returns the callback with `secret` in the input whose name ends with `suffix`; itself where nothing was set.
  func filling(_ suffix: String = "", with secret: Secret<String>?) -> JourneyCallback {
    guard let secret else { return self }
    var filled = self
    filled.fill(suffix: suffix, with: .string(secret.reveal()))
    return filled
  }

  /// The error for an input that the callback does not accept. `detail` has no input.
  func rejection(_ detail: String) -> JourneyError {
    JourneyError(.invalid(path: ["callbacks", .name(type)]), "\(type): \(detail)")
  }
}

/// The user's name.
public struct NameCallback: TypedCallback, KnownCallback {
  /// The callback in JSON.
  public private(set) var callback: JourneyCallback

  init?(_ callback: JourneyCallback) {
    guard callback.isA(Self.self, inputs: "") else { return nil }
    self.callback = callback
  }

  /// The question to the user.
  public var prompt: String { callback.prompt ?? "" }

  /// Sets the name.
  public mutating func setValue(_ name: String) { callback.fill(with: .string(name)) }
}

/// The user's password, or a one-time code. It is kept as a `Secret` until it is sent.
public struct PasswordCallback: TypedCallback, KnownCallback {
  private var password: Secret<String>?
  /// The callback in JSON.
  public let callback: JourneyCallback

  init?(_ callback: JourneyCallback) {
    guard callback.isA(Self.self, inputs: "") else { return nil }
    self.callback = callback
  }

  /// The callback as it is sent, with the password.
  public var filled: JourneyCallback { callback.filling(with: password) }

  /// The question to the user.
  public var prompt: String { callback.prompt ?? "" }

  /// Sets the password.
  public mutating func setValue(_ password: Secret<String>) { self.password = password }

  /// Sets the password.
  public mutating func setValue(_ password: String) { self.password = Secret(password) }
}

/// A text.
public struct TextInputCallback: TypedCallback, KnownCallback {
  /// The callback in JSON.
  public private(set) var callback: JourneyCallback

  init?(_ callback: JourneyCallback) {
    guard callback.isA(Self.self, inputs: "") else { return nil }
    self.callback = callback
  }

  /// The question to the user.
  public var prompt: String { callback.prompt ?? "" }

  /// The text to show in the field at first.
  public var defaultText: String? { callback.output("defaultText")?.stringValue }

  /// Sets the text.
  public mutating func setValue(_ text: String) { callback.fill(with: .string(text)) }
}

/// A value that the program supplies without the user, such as the result of a WebAuthn ceremony.
public struct HiddenValueCallback: TypedCallback, KnownCallback {
  /// The callback in JSON.
  public private(set) var callback: JourneyCallback

  init?(_ callback: JourneyCallback) {
    guard callback.isA(Self.self, inputs: "") else { return nil }
    self.callback = callback
  }

  /// The name of the value.
  public var id: String { callback.output("id")?.stringValue ?? "" }

  /// The access manager's own value.
  public var defaultValue: String? { callback.output("value")?.stringValue }

  /// Sets the value.
  public mutating func setValue(_ value: String) { callback.fill(with: .string(value)) }
}

/// A choice among several.
public struct ChoiceCallback: TypedCallback, KnownCallback {
  /// The callback in JSON.
  public private(set) var callback: JourneyCallback

  init?(_ callback: JourneyCallback) {
    guard callback.isA(Self.self, inputs: "") else { return nil }
    self.callback = callback
  }

  /// The question to the user.
  public var prompt: String { callback.prompt ?? "" }

  /// The choices in their order.
  public var choices: [String] { callback.choices }

  /// The index of the choice to show at first; nil when the access manager names none.
  public var defaultChoice: Int? { callback.defaultChoice }

  /// Chooses by index, from 0. Throws when there is no such choice.
  public mutating func setValue(_ index: Int) throws(JourneyError) {
    guard choices.indices.contains(index) else {
      throw callback.rejection("the choice is not one of \(choices.count), counted from 0")
    }
    callback.fill(with: .integer(Int64(index)))
  }

  /// Chooses by text. Throws when there is no such choice.
  public mutating func setValue(_ choice: String) throws(JourneyError) {
    guard let index = choices.firstIndex(of: choice) else {
      throw callback.rejection("no choice has that text")
    }
    callback.fill(with: .integer(Int64(index)))
  }
}

/// A question with buttons, such as yes and no.
public struct ConfirmationCallback: TypedCallback, KnownCallback {
  /// A button that the access manager does not name, by its number.
  public enum Option: Int, Sendable, Hashable, CaseIterable {
    /// Yes.
    case yes = 0
    /// No.
    case no = 1
    /// Cancel.
    case cancel = 2
    /// OK.
    case ok = 3
  }

  /// The callback in JSON.
  public private(set) var callback: JourneyCallback

  init?(_ callback: JourneyCallback) {
    guard callback.isA(Self.self, inputs: "") else { return nil }
    self.callback = callback
  }

  /// The question to the user.
  public var prompt: String { callback.prompt ?? "" }

  /// The kind of message; nil when the access manager names none.
  public var messageType: JourneyCallback.MessageType? { callback.messageType.flatMap { .init(rawValue: $0) } }

  /// The texts of the buttons in their order; empty where `standardOptions` are meant.
  public var options: [String] { callback.choices }

  /// The buttons where `options` is empty.
  public var standardOptions: [Option] {
    guard options.isEmpty else { return [] }
    return switch callback.output("optionType")?.integerValue {
    case 0: [.yes, .no]
    case 1: [.yes, .no, .cancel]
    case 2: [.ok, .cancel]
    default: []
    }
  }

  /// The index of the button to show as the usual one, or the number of the standard option; nil when the access
  /// manager names none.
  public var defaultOption: Int? { callback.defaultChoice }

  /// Chooses by index, from 0. Throws when there is no such option.
  public mutating func setValue(_ index: Int) throws(JourneyError) {
    guard options.indices.contains(index) else {
      throw callback.rejection("the option is not one of \(options.count), counted from 0")
    }
    callback.fill(with: .integer(Int64(index)))
  }

  /// Chooses by text. Throws when there is no such option.
  public mutating func setValue(_ option: String) throws(JourneyError) {
    guard let index = options.firstIndex(of: option) else {
      throw callback.rejection("no option has that text")
    }
    callback.fill(with: .integer(Int64(index)))
  }

  /// Chooses one of `standardOptions`. Throws when there is no such button.
  public mutating func setValue(_ option: Option) throws(JourneyError) {
    guard standardOptions.contains(option) else { throw callback.rejection("\(option) is not one of its options") }
    callback.fill(with: .integer(Int64(option.rawValue)))
  }
}

/// A message to the user.
public struct TextOutputCallback: TypedCallback, KnownCallback {
  /// The callback in JSON.
  public let callback: JourneyCallback

  init?(_ callback: JourneyCallback) {
    guard callback.isA(Self.self) else { return nil }
    self.callback = callback
  }

  /// The message to the user.
  public var message: String { callback.message ?? "" }

  /// The kind of message; nil when the access manager names none.
  public var messageType: JourneyCallback.MessageType? { callback.messageType.flatMap { .init(rawValue: $0) } }
}

/// A message at which the journey pauses until its user follows the link in an e-mail.
public struct SuspendedTextOutputCallback: TypedCallback, KnownCallback {
  /// The URL in the link, with which the journey continues, or its `suspendedId`; nil: not yet known.
  public var resumeURI: Secret<String>?
  /// The callback in JSON.
  public let callback: JourneyCallback

  init?(_ callback: JourneyCallback) {
    guard callback.isA(Self.self) else { return nil }
    self.callback = callback
  }

  /// The message to the user.
  public var message: String { callback.message ?? "" }
}

/// A delay that the access manager requests, such as for an answer on the user's telephone: the next request is not
/// sent earlier.
public struct PollingWaitCallback: TypedCallback, KnownCallback {
  /// The callback in JSON.
  public let callback: JourneyCallback

  init?(_ callback: JourneyCallback) {
    guard callback.isA(Self.self) else { return nil }
    self.callback = callback
  }

  /// The message to the user.
  public var message: String { callback.message ?? "" }

  /// The delay.
  public var waitTime: Duration { callback.waitTime ?? .zero }
}

/// A URL that the user follows in a browser.
public struct RedirectCallback: TypedCallback, KnownCallback {
  /// The URL to which the browser was led back, with its parameters; nil: not yet known.
  public var callbackURL: Secret<String>?
  /// The callback in JSON.
  public let callback: JourneyCallback

  init?(_ callback: JourneyCallback) {
    guard callback.isA(Self.self), callback.redirectURL != nil else { return nil }
    self.callback = callback
  }

  /// The callback as it is sent, with the URL where it has an input for it.
  public var filled: JourneyCallback { callback.filling(with: callbackURL) }

  /// The URL for the user's browser.
  public var redirectURL: String { callback.redirectURL ?? "" }

  /// The method of the browser's request, `GET` or `POST`.
  public var redirectMethod: String { callback.output("redirectMethod")?.stringValue ?? "GET" }

  /// The form fields of a POST, by name; empty for none.
  public var redirectData: JSONObject { callback.output("redirectData")?.objectValue ?? JSONObject() }
}

/// Data for the program, such as the options of a WebAuthn ceremony.
public struct MetadataCallback: TypedCallback, KnownCallback {
  /// The callback in JSON.
  public let callback: JourneyCallback

  init?(_ callback: JourneyCallback) {
    guard callback.isA(Self.self) else { return nil }
    self.callback = callback
  }

  /// The data.
  public var data: JSONObject { callback.output("data")?.objectValue ?? JSONObject() }
}
