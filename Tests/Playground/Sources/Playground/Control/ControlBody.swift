import PosternJSON

/// The JSON object in the body of a control request, read strictly.
struct ControlBody {
  /// Why a body is not understood.
  struct Problem: Error {
    let message: String
  }

  /// The members.
  let members: JSONObject

  /// A body of these members.
  init(members: JSONObject) { self.members = members }

  /// The body of `request`.
  init(_ request: Request) throws(Problem) {
    let value: JSONValue
    do throws(JSONParseError) {
      value = try JSONParser(maxDepth: 8).parse(request.body)
    } catch {
      throw Problem(message: "the body is \(error.description)")
    }
    guard let members = value.objectValue else { throw Problem(message: "an object is expected") }
    self.members = members
  }

  /// Rejects unknown members.
  func rejectOthers(than known: [String]) throws(Problem) {
    if let name = members.names.first(where: { !known.contains($0) }) {
      throw Problem(message: "\(name): one of \(known.joined(separator: ", ")) is expected")
    }
  }

  /// A truth value; nil when it is not there.
  func bool(_ name: String) throws(Problem) -> Bool? {
    guard let value = members[name] else { return nil }
    guard let flag = value.boolValue else { throw Problem(message: "\(name): true or false is expected") }
    return flag
  }

  /// A whole number; nil when it is not there.
  func integer(_ name: String, in range: ClosedRange<Int64>) throws(Problem) -> Int64? {
    guard let value = members[name] else { return nil }
    guard let number = value.integerValue, range.contains(number) else {
      throw Problem(message: "\(name): a whole number within \(range) is expected")
    }
    return number
  }

  /// Text; nil when it is not there or null.
  func string(_ name: String) throws(Problem) -> String? {
    guard let value = members[name], value != .null else { return nil }
    guard let text = value.stringValue else { throw Problem(message: "\(name): a string is expected") }
    return text
  }

  /// A list of text; nil when it is not there.
  func strings(_ name: String) throws(Problem) -> [String]? {
    guard let value = members[name] else { return nil }
    guard let texts = value.arrayValue?.map(\.stringValue), texts.count <= 16, !texts.contains(nil) else {
      throw Problem(message: "\(name): a list of a few strings is expected")
    }
    return texts.compactMap { $0 }
  }
}
