public import PosternJSON

/// Answers that are known beforehand, by callback type or by what a callback is called.
public struct JourneyAnswers: Sendable {
  /// Answers this callback with the URL to which a redirect led back, or with the link out of an e-mail.
  static let redirect = "RedirectCallback"
  static let suspended = "SuspendedTextOutputCallback"
  /// At the start: goes on with a journey that was suspended.
  static let suspendedID = "suspendedId"

  private let values: JSONObject

  /// The given answers.
  public init(_ values: JSONObject = JSONObject()) { self.values = values }

  /// Whether there are none.
  var isEmpty: Bool { values.isEmpty }

  subscript(name: String) -> JSONValue? { values[name] }

  /// The callbacks with every input filled; nil when one of them has no answer.
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
