public import PosternJSON
public import PosternSupport

/// Answers that are known in advance, by callback type or by the name of a callback.
public struct JourneyAnswers: Sendable {
  /// The key of the answer with the URL to which a redirect led back, or with the link in an e-mail.
  static let redirect = "RedirectCallback"
  static let suspended = "SuspendedTextOutputCallback"
  /// The key that resumes a suspended journey, at the start.
  static let suspendedID = "suspendedId"

  private let values: JSONObject
  /// Whether they are for the next step only.
  private var isForOneStep = false

  /// The given answers.
  public init(_ values: JSONObject = JSONObject()) { self.values = values }

  /// Answers for the next step only.
  init(once values: JSONObject) {
    self.values = values
    isForOneStep = true
  }

  /// The answers for the steps after the next one.
  var later: JourneyAnswers { isForOneStep ? JourneyAnswers() : self }

  /// Whether there are none.
  var isEmpty: Bool { values.isEmpty }

  subscript(name: String) -> JSONValue? { values[name] }

  /// Returns the callbacks with every input filled; nil when one of them has no answer.
  func filling(_ callbacks: [JSONValue]) -> [JSONValue]? {
    var filled: [JSONValue] = []
    for json in callbacks {
      guard var callback = JourneyCallback(json) else { return nil }
      if callback.inputNames.isEmpty {
        guard callback.type != Self.redirect, callback.type != Self.suspended else { return nil }
      } else {
        guard let value = callback.names.lazy.compactMap({ values[$0] }).first, fill(&callback, value) else {
          return nil
        }
      }
      filled.append(callback.json)
    }
    return filled
  }

  /// A choice may be given by its text; an object fills several inputs by their names or what is behind `IDToken1` in
  /// them.
  private func fill(_ callback: inout JourneyCallback, _ value: JSONValue) -> Bool {
    if let object = value.objectValue {
      return object.members.allSatisfy { callback.fill($0.name, with: $0.value) }
    }
    if let text = value.stringValue, let index = callback.choices.firstIndex(of: text) {
      return callback.fill(with: .integer(Int64(index)))
    }
    return callback.fill(with: value)
  }
}

extension JourneyAnswers: ConciseStringConvertible {
  /// The number of answers, which may be passwords.
  public var description: String { Concise.count(values.count, "answer") }
}
