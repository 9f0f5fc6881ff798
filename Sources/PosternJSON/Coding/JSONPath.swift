/// The way to a value inside a JSON text: a linked list, so that walking down costs one small allocation a level.
indirect enum JSONPath {
  case root
  case member(String, of: JSONPath)
  case element(Int, of: JSONPath)

  /// The JSON Pointer (RFC 6901 section 3: `~` is `~0`, `/` is `~1`).
  var pointer: String {
    switch self {
    case .root: ""
    case .member(let name, let parent): "\(parent.pointer)/\(Self.escape(name))"
    case .element(let index, let parent): "\(parent.pointer)/\(index)"
    }
  }

  private static func escape(_ name: String) -> String {
    guard name.utf8.contains(where: { $0 == UInt8(ascii: "~") || $0 == UInt8(ascii: "/") }) else { return name }
    return name.reduce(into: "") { result, character in
      switch character {
      case "~": result += "~0"
      case "/": result += "~1"
      default: result.append(character)
      }
    }
  }

  /// As `Codable` wants it.
  var codingPath: [any CodingKey] {
    switch self {
    case .root: []
    case .member(let name, let parent): parent.codingPath + [AnyJSONKey(stringValue: name)]
    case .element(let index, let parent): parent.codingPath + [AnyJSONKey(intValue: index)]
    }
  }
}

/// A coding key of any name or index.
struct AnyJSONKey: CodingKey {
  let stringValue: String
  let intValue: Int?

  init(stringValue: String) {
    self.stringValue = stringValue
    intValue = nil
  }

  init(intValue: Int) {
    stringValue = String(intValue)
    self.intValue = intValue
  }
}
