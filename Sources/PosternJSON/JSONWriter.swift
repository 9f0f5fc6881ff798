import CPosternJansson

/// A JSON writer over jansson: compact by default, one line, member order kept.
public struct JSONWriter: Sendable {
  /// Whether to indent by two spaces, for people.
  public var pretty: Bool

  /// A writer; compact unless `pretty`.
  public init(pretty: Bool = false) { self.pretty = pretty }

  /// The text of `value`, without a line feed at its end.
  public func write(_ value: JSONValue) -> [UInt8] { withBytes(of: value) { Array($0) } }

  /// The text of `value` as a string.
  public func string(_ value: JSONValue) -> String {
    withBytes(of: value) { String(decoding: $0, as: UTF8.self) }
  }

  /// Calls `body` with the text of `value`; the bytes are valid during the call only.
  public func withBytes<Result>(
    of value: JSONValue, _ body: (UnsafeRawBufferPointer) throws -> Result
  ) rethrows -> Result {
    Jansson.seedOnce
    var tree = JanssonTree()
    let root = Jansson.Reference(owning: tree.json(from: value))
    var flags = Int(JSON_ENCODE_ANY) | Int(postern_json_real_precision(Int32(tree.realPrecision)))
    flags |= pretty ? JSONWriter.indent : Int(JSON_COMPACT)
    let output = WrittenText(spliced: tree.spliced)
    root.withPointer {
      _ = json_dump_callback($0, WrittenText.append, Unmanaged.passUnretained(output).toOpaque(), flags)
    }
    return try withExtendedLifetime(output) { try body(output.bytes) }
  }

  private static let indent = 2
}

/// Builds the jansson value of a `JSONValue`, and collects what the writer needs to know about it.
struct JanssonTree {
  /// The number of digits that its reals need to survive a round trip.
  private(set) var realPrecision = 1
  /// The long strings, in the order of their placeholders.
  private(set) var spliced: [String] = []

  /// The jansson value of `value`; the caller owns it.
  mutating func json(from value: JSONValue) -> UnsafeMutablePointer<json_t> {
    switch value {
    case .null: return json_null()
    case .bool(let flag): return flag ? json_true() : json_false()
    case .integer(let number): return Self.created(json_integer(json_int_t(number)))
    case .real(let number):
      // jansson returns NULL for a number that JSON cannot express; no parser returns such a value.
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

  /// Traps on NULL, which jansson returns only when memory is exhausted: no response can be sent then.
  private static func created(_ pointer: UnsafeMutablePointer<json_t>?) -> UnsafeMutablePointer<json_t> {
    guard let pointer else { preconditionFailure("out of memory") }
    return pointer
  }

  /// The fewest significant digits that give the same double back: those of Swift's shortest description.
  private static func digits(for number: Double) -> Int {
    let mantissa = number.description.utf8.prefix { $0 != UInt8(ascii: "e") }
    let digits = mantissa.filter { $0 >= UInt8(ascii: "0") && $0 <= UInt8(ascii: "9") }
    return max(1, digits.drop { $0 == UInt8(ascii: "0") }.count)
  }
}

/// Placeholders for long strings in a text that jansson writes. jansson reads strings character by character (about
/// 6 ms for 1 MiB), so `JSONEscaping` writes long ones instead.
///
/// A placeholder has 128 random bits that never leave this process, so that no caller or server can send one.
enum SplicePoint {
  /// The length in bytes from which a string gets a placeholder.
  static let threshold = 1024

  private static let prefix: [UInt8] = {
    let random =
      String(UInt64.random(in: .min ... .max), radix: 36) + String(UInt64.random(in: .min ... .max), radix: 36)
    return Array("splice-\(random)-".utf8)
  }()

  /// The placeholder of string `index`.
  static func mark(_ index: Int) -> String { String(decoding: prefix, as: UTF8.self) + String(index) }

  /// The index of the string that `piece`, as jansson wrote it, stands for; nil when it is no placeholder.
  static func index(of piece: UnsafeRawBufferPointer) -> Int? {
    guard piece.count > prefix.count, piece.starts(with: prefix) else { return nil }
    return Int(String(decoding: piece[prefix.count...], as: UTF8.self))
  }
}
