import PosternJSON

/// A change to an answer: members set, removed and renamed, and times written as strings or numbers.
struct AdobePassChange: Sendable {
  /// New values by JSON pointer.
  var values: [(String, JSONValue)] = []
  /// The pointers of what is removed.
  var removed: [String] = []
  /// New names by the old ones, wherever they occur.
  var names: [String: String] = [:]
  /// Whether times are strings; nil: as they are.
  var timesAreStrings: Bool?

  /// `json`, changed.
  func changing(_ json: JSONValue) -> JSONValue {
    var json = rewritten(json)
    for pointer in removed { json = Self.setting(json, Self.steps(pointer), nil) ?? json }
    for (pointer, value) in values { json = Self.setting(json, Self.steps(pointer), value) ?? json }
    return json
  }

  private func rewritten(_ json: JSONValue) -> JSONValue {
    switch json {
    case .array(let elements): return .array(elements.map(rewritten))
    case .object(let object):
      return .object(
        JSONObject(
          object.members.map { member in
            let isTime = ["notBefore", "notAfter"].contains(member.name)
            let value = isTime ? time(member.value) : rewritten(member.value)
            return (names[member.name] ?? member.name, value)
          }))
    default: return json
    }
  }

  private func time(_ value: JSONValue) -> JSONValue {
    switch (timesAreStrings, value) {
    case (true?, .integer(let number)): .string(String(number))
    case (false?, .string(let text)): Int64(text).map(JSONValue.integer) ?? value
    default: value
    }
  }

  private static func steps(_ pointer: String) -> [String] {
    pointer.split(separator: "/", omittingEmptySubsequences: false).dropFirst(pointer.hasPrefix("/") ? 1 : 0)
      .map { String($0).replacing("~1", with: "/").replacing("~0", with: "~") }
  }

  /// `json` with `value` at `steps`, or without what is there; nil when the path leads nowhere.
  private static func setting(_ json: JSONValue, _ steps: [String], _ value: JSONValue?) -> JSONValue? {
    guard let step = steps.first else { return value }
    let rest = Array(steps.dropFirst())
    switch json {
    case .array(var elements):
      guard let index = Int(step), elements.indices.contains(index) else { return nil }
      if rest.isEmpty, value == nil {
        elements.remove(at: index)
      } else if let element = setting(elements[index], rest, value) {
        elements[index] = element
      } else {
        return nil
      }
      return .array(elements)
    case .object(var object):
      if rest.isEmpty {
        object[step] = value
      } else {
        guard let member = object[step], let changed = setting(member, rest, value) else { return nil }
        object[step] = changed
      }
      return .object(object)
    default: return nil
    }
  }
}
