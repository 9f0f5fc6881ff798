/// Why bytes cannot be a JSON text (RFC 8259), as far as one pass over brackets, strings and tokens can see.
enum JSONDefect: Sendable, Hashable {
  case bracketMismatch
  case colonExpected
  case commaExpected
  case controlCharacter
  case cutOff
  case escape
  case literal
  case memberNameExpected
  case nesting
  case number
  case textExpected
  case valueExpected

  /// One clause for people, with no byte of the input in it: the input may hold secrets.
  var reason: String {
    switch self {
    case .bracketMismatch: "a closing bracket that does not match the open one"
    case .colonExpected: "a colon is missing after a member name"
    case .commaExpected: "a comma or a closing bracket is missing after a value"
    case .controlCharacter: "a raw control character inside a string"
    case .cutOff: "the text is cut off by the end of the input"
    case .escape: "an unknown escape sequence in a string"
    case .literal: "an unknown literal"
    case .memberNameExpected: "a member name in double quotes is missing"
    case .nesting: "nested deeper than the limit"
    case .number: "a number that JSON does not allow"
    case .textExpected: "a JSON text starts with { or ["
    case .valueExpected: "a value is missing"
    }
  }
}
