public import PosternJSON
import PosternSupport

/// The headers of a response: lower-case names to their values in order; names in the order of their first lines.
public struct ResponseHeaders: SchemaDescribed, Sendable {
  private struct Line {
    let name: String
    let value: String

    func hasSameName(as other: Line) -> Bool {
      name.utf8.count == other.name.utf8.count && name.hasSameASCIILetters(as: other.name)
    }
  }

  /// The lines of each name, once there are too many for a scan of all of them.
  private struct Names {
    private(set) var isFirst: [Bool] = []
    private(set) var next: [Int?]

    init(_ lines: [Line]) {
      next = Array(repeating: nil, count: lines.count)
      var last: [String: Int] = [:]
      for (position, line) in lines.enumerated() {
        let before = last.updateValue(position, forKey: line.name.lowercasedASCII())
        isFirst.append(before == nil)
        if let before { next[before] = position }
      }
    }
  }

  private static let indexThreshold = 16
  private static let reservedAtMost = 64

  private var lines: [Line] = []

  /// No headers yet, of about `capacity` that will come.
  public init(capacity: Int = 0) { lines.reserveCapacity(min(capacity, Self.reservedAtMost)) }

  /// Adds a line; `name` is in any case.
  public mutating func append(_ name: String, _ value: String) { lines.append(Line(name: name, value: value)) }

  private func isFirst(_ position: Int, _ names: Names?) -> Bool {
    if let names { return names.isFirst[position] }
    return !lines[..<position].contains { $0.hasSameName(as: lines[position]) }
  }

  /// The next line of the same name.
  private func next(after position: Int, _ names: Names?) -> Int? {
    if let names { return names.next[position] }
    return lines[(position + 1)...].firstIndex { $0.hasSameName(as: lines[position]) }
  }

  private func indexIfLong() -> Names? { lines.count > Self.indexThreshold ? Names(lines) : nil }

  /// Appends the headers to a text.
  func write(to text: borrowing JSONComposer) {
    let names = indexIfLong()
    text.literal("{")
    for position in lines.indices where isFirst(position, names) {
      if position > 0 { text.literal(",") }
      text.lowercasedString(lines[position].name)
      text.literal(":[")
      text.string(lines[position].value)
      var last = position
      while let another = next(after: last, names) {
        text.literal(",")
        text.string(lines[another].value)
        last = another
      }
      text.literal("]")
    }
    text.literal("}")
  }

  /// The headers as a value.
  public var json: JSONValue {
    let text = JSONComposer()
    write(to: text)
    return text.finished().value
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
