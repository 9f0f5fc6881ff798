public import PosternJSON
public import PosternSupport

/// A callback: one question or message of a journey, around the access manager's own JSON.
public struct JourneyCallback: Sendable, Hashable {
  /// The JSON as it was received, or with inputs filled in.
  public private(set) var json: JSONValue

  /// Reads the callback in `json`; nil when it is none.
  public init?(_ json: JSONValue) {
    guard json["type"]?.stringValue != nil else { return nil }
    self.json = json
  }

  /// The callback of a step whose user follows `url` in a browser.
  static func redirect(to url: String) -> JSONValue {
    [
      "type": "RedirectCallback",
      "output": [
        ["name": "redirectUrl", "value": .string(url)], ["name": "redirectMethod", "value": "GET"],
        ["name": "trackingCookie", "value": false],
      ],
      "input": [["name": "callbackUrl", "value": ""]],
    ]
  }

  /// The type: `NameCallback`, `ChoiceCallback` and so on; unknown types are handled as all others.
  public var type: String { json["type"]?.stringValue ?? "" }

  /// The output of that name: `prompt`, `choices`, `message`.
  public func output(_ name: String) -> JSONValue? {
    json["output"]?.arrayValue?.first { $0["name"]?.stringValue == name }?["value"]
  }

  /// The question to the user.
  public var prompt: String? { output("prompt")?.stringValue }

  /// The message to the user.
  public var message: String? { output("message")?.stringValue }

  /// The choices of `ChoiceCallback` and `ConfirmationCallback`.
  public var choices: [String] {
    ((output("choices") ?? output("options"))?.arrayValue ?? []).compactMap(\.stringValue)
  }

  /// The delay of a `PollingWaitCallback`; the access manager writes it as a string.
  public var waitTime: Duration? {
    guard type == "PollingWaitCallback", let value = output("waitTime") else { return nil }
    let milliseconds = value.integerValue ?? value.stringValue.flatMap { Int64($0) }
    return milliseconds.map { .milliseconds(max(0, $0)) }
  }

  /// The names of its inputs in order: `IDToken1`, `IDToken1validateOnly`.
  public var inputNames: [String] { (json["input"]?.arrayValue ?? []).compactMap { $0["name"]?.stringValue } }

  /// The keys by which a caller may name it: its type, its number, its name.
  var names: [String] {
    let own = [json["_id"]?.integerValue.map(String.init), output("id")?.stringValue, output("name")?.stringValue]
    return own.compactMap { $0 } + inputNames.prefix(1) + [type]
  }

  /// Fills the input of that name; the first one without a name. False when there is none.
  @discardableResult
  public mutating func fill(_ name: String? = nil, with value: JSONValue) -> Bool {
    guard var object = json.objectValue, var inputs = object["input"]?.arrayValue else { return false }
    let first = inputs.first?["name"]?.stringValue ?? ""
    let index = inputs.firstIndex { input in
      guard let name else { return true }
      let own = input["name"]?.stringValue
      return own == name || own == first + name
    }
    guard let index, var input = inputs[index].objectValue else { return false }
    input["value"] = value
    inputs[index] = .object(input)
    object["input"] = .array(inputs)
    json = .object(object)
    return true
  }
}

/// The outputs of the common types of callbacks, other than the prompt.
extension JourneyCallback {
  /// A policy of the access manager that an input violated, of attributes, user names and new passwords.
  public struct FailedPolicy: Sendable, Hashable {
    /// The name of the policy: `MIN_LENGTH`.
    public let requirement: String
    /// Its parameters: `{"minLength": 8}`.
    public let params: JSONObject
  }

  /// The index of the default choice (`ChoiceCallback`, `ConfirmationCallback`).
  public var defaultChoice: Int? {
    (output("defaultChoice") ?? output("defaultOption"))?.integerValue.flatMap { Int(exactly: $0) }
  }

  /// The kind of message: 0 is information, 1 a warning, 2 an error, 4 a script. The access manager writes it as a
  /// string or a number.
  public var messageType: Int? {
    let type = output("messageType")
    return type?.integerValue.flatMap { Int(exactly: $0) } ?? type?.stringValue.flatMap { Int($0) }
  }

  /// The URL for the user's browser (`RedirectCallback`).
  public var redirectURL: String? { output("redirectUrl")?.stringValue }

  /// The name of a hidden value (`HiddenValueCallback`), or of the requested attribute (`StringAttributeInputCallback`
  /// and so on).
  public var name: String? { output("id")?.stringValue ?? output("name")?.stringValue }

  /// Whether the attribute is required; false where that is not stated.
  public var isRequired: Bool { (output("required") ?? output("isRequired"))?.boolValue ?? false }

  /// The terms to accept (`TermsAndConditionsCallback`).
  public var terms: String? { output("terms")?.stringValue }

  /// The questions to choose from (`KbaCreateCallback`).
  public var predefinedQuestions: [String] {
    (output("predefinedQuestions")?.arrayValue ?? []).compactMap(\.stringValue)
  }

  /// The providers to choose from (`SelectIdPCallback`).
  public var providers: [String] {
    (output("providers")?.arrayValue ?? []).compactMap { $0["provider"]?.stringValue }
  }

  /// The policies that the last input violated; the access manager writes each as a JSON text of its own.
  public var failedPolicies: [FailedPolicy] {
    (output("failedPolicies")?.arrayValue ?? []).compactMap { element in
      let text = element.stringValue.flatMap { try? JSONParser(maxBytes: 64 << 10, maxDepth: 16).parse(Array($0.utf8)) }
      let policy = text ?? element
      return policy["policyRequirement"]?.stringValue.map {
        FailedPolicy(requirement: $0, params: policy["params"]?.objectValue ?? JSONObject())
      }
    }
  }
}

extension JourneyCallback.FailedPolicy: ConciseStringConvertible {
  /// The requirement.
  public var description: String { "failed policy \(Concise.name(requirement))" }
}
