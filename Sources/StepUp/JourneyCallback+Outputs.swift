public import PosternJSON
public import PosternSupport

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
