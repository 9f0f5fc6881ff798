/// The rules for scalars, in one place for all three kinds of container. The path is only made for an error.
enum ScalarDecoding {
  static func bool(_ value: JSONValue, at path: @autoclosure () -> JSONPath) throws -> Bool {
    guard case .bool(let flag) = value else { throw mismatch("a boolean", value, path()) }
    return flag
  }

  static func string(_ value: JSONValue, at path: @autoclosure () -> JSONPath) throws -> String {
    guard case .string(let text) = value else { throw mismatch("a string", value, path()) }
    guard !text.containsNUL else { throw DecodingNode.nulError(at: path()) }
    return text
  }

  static func integer<Number: FixedWidthInteger>(
    _ value: JSONValue, as type: Number.Type, at path: @autoclosure () -> JSONPath
  ) throws -> Number {
    guard case .integer(let number) = value else { throw mismatch("an integer", value, path()) }
    guard let exact = Number(exactly: number) else {
      throw JSONDecodingError(path: path().pointer, problem: .invalid("is out of range"))
    }
    return exact
  }

  static func real(_ value: JSONValue, at path: @autoclosure () -> JSONPath) throws -> Double {
    guard let number = value.numberValue else { throw mismatch("a number", value, path()) }
    return number
  }

  private static func mismatch(_ expected: String, _ value: JSONValue, _ path: JSONPath) -> JSONDecodingError {
    JSONDecodingError(path: path.pointer, problem: .mismatch(expected: expected, actual: value.kind))
  }
}
