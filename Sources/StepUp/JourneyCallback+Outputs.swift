public import PosternJSON

/// What the common types of callbacks say beside their prompt.
extension JourneyCallback {
  /// A demand of the access manager's that an input did not meet: of attributes, user names and passwords to be.
  public struct FailedPolicy: Sendable, Hashable {
    /// What was demanded: `MIN_LENGTH`.
    public let requirement: String
    /// With what: `{"minLength": 8}`.
    public let params: JSONObject
  }

  /// The index of the choice that is made unless another is (`ChoiceCallback`, `ConfirmationCallback`).
  public var defaultChoice: Int? {
    (output("defaultChoice") ?? output("defaultOption"))?.integerValue.flatMap { Int(exactly: $0) }
  }

  /// What kind of message it is: 0 informs, 1 warns, 2 tells an error, 4 is a script. The access manager writes it as a
  /// string or a number.
  public var messageType: Int? {
    let type = output("messageType")
    return type?.integerValue.flatMap { Int(exactly: $0) } ?? type?.stringValue.flatMap { Int($0) }
  }

  /// Where the user's browser is to go (`RedirectCallback`).
  public var redirectURL: String? { output("redirectUrl")?.stringValue }

  /// By what a hidden value is known (`HiddenValueCallback`), or the attribute that is asked for
  /// (`StringAttributeInputCallback` and so on).
  public var name: String? { output("id")?.stringValue ?? output("name")?.stringValue }

  /// Whether the attribute must be given; false where that is not said.
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

  /// What the last input failed; the access manager writes each as a JSON text of its own.
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
