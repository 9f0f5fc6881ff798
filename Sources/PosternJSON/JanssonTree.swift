import CPosternJansson

/// Builds the jansson value of a `JSONValue`, and notes what the writer has to know about it.
struct JanssonTree {
  /// The digits its reals need to survive a round trip.
  private(set) var realPrecision = 1
  /// The long strings, in the order of their marks.
  private(set) var spliced: [String] = []

  /// The jansson value of `value`; the caller owns it.
  mutating func json(from value: JSONValue) -> UnsafeMutablePointer<json_t> {
    switch value {
    case .null: return json_null()
    case .bool(let flag): return flag ? json_true() : json_false()
    case .integer(let number): return Self.created(json_integer(json_int_t(number)))
    case .real(let number):
      // jansson refuses what JSON cannot express; no such value comes from a parser.
      guard number.isFinite else { return json_null() }
      realPrecision = max(realPrecision, Self.digits(for: number))
      return Self.created(json_real(number))
    case .string(let text):
      guard text.utf8.count >= SplicePoint.threshold else { return Self.json(from: text) }
      spliced.append(text)
      return Self.json(from: SplicePoint.mark(spliced.count - 1))
    case .array(let elements):
      let array = Self.created(json_array())
      for element in elements { json_array_append_new(array, json(from: element)) }
      return array
    case .object(let object):
      let result = Self.created(json_object())
      for member in object.members {
        let child = json(from: member.value)
        member.name.withCString { _ = json_object_set_new_nocheck(result, $0, child) }
      }
      return result
    }
  }

  private static func json(from text: String) -> UnsafeMutablePointer<json_t> {
    var text = text
    return text.withUTF8 { bytes in
      bytes.withMemoryRebound(to: CChar.self) { characters in
        guard let base = characters.baseAddress else { return created(json_stringn_nocheck("", 0)) }
        return created(json_stringn_nocheck(base, characters.count))
      }
    }
  }

  /// jansson returns NULL only when memory is exhausted: nothing can be answered then.
  private static func created(_ pointer: UnsafeMutablePointer<json_t>?) -> UnsafeMutablePointer<json_t> {
    guard let pointer else { preconditionFailure("out of memory") }
    return pointer
  }

  /// The fewest significant digits that give the same double back: those of Swift's own shortest description.
  private static func digits(for number: Double) -> Int {
    let mantissa = number.description.utf8.prefix { $0 != UInt8(ascii: "e") }
    let digits = mantissa.filter { $0 >= UInt8(ascii: "0") && $0 <= UInt8(ascii: "9") }
    return max(1, digits.drop { $0 == UInt8(ascii: "0") }.count)
  }
}
