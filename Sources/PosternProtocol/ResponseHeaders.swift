public import PosternJSON

/// The headers of a response: lower-case names to their values in order; names in the order of their first lines.
public struct ResponseHeaders: SchemaDescribed, Sendable {
  private static let indexThreshold = 16
  private static let reservedAtMost = 64

  private var names: [String] = []
  private var values: [[String]] = []
  /// The positions of the names, once there are too many for a scan of each line.
  private var index: [String: Int] = [:]

  /// No headers yet, of about `capacity` that will come.
  public init(capacity: Int = 0) {
    names.reserveCapacity(min(capacity, Self.reservedAtMost))
    values.reserveCapacity(min(capacity, Self.reservedAtMost))
  }

  /// Adds a line; `name` is in lower case.
  public mutating func append(_ name: String, _ value: String) {
    if let position = names.count < Self.indexThreshold ? names.firstIndex(of: name) : index[name] {
      return values[position].append(value)
    }
    names.append(name)
    values.append([value])
    if names.count == Self.indexThreshold {
      index = Dictionary(uniqueKeysWithValues: zip(names, names.indices))
    } else if names.count > Self.indexThreshold {
      index[name] = names.count - 1
    }
  }

  /// Appends the headers to a text.
  func write(to text: borrowing JSONComposer) {
    text.literal("{")
    for (position, name) in names.enumerated() {
      if position > 0 { text.literal(",") }
      text.string(name)
      for (number, value) in values[position].enumerated() {
        text.literal(number == 0 ? ":[" : ",")
        text.string(value)
      }
      text.literal("]")
    }
    text.literal("}")
  }

  /// The headers as a value.
  public var json: JSONValue {
    .object(JSONObject(zip(names, values).map { ($0, .array($1.map { .string($0) })) }))
  }

  /// Takes an object of arrays of strings.
  public init(from decoder: any Decoder) throws {
    for member in try JSONValue(from: decoder).objectValue?.members ?? [] {
      for value in member.value.arrayValue ?? [] { append(member.name, value.stringValue ?? "") }
    }
  }

  /// An object of arrays.
  public func encode(to encoder: any Encoder) throws { try json.encode(to: encoder) }

  /// Anything.
  public static var schema: JSONValue { [:] }
  /// No headers.
  public static var sample: ResponseHeaders { ResponseHeaders() }
}
