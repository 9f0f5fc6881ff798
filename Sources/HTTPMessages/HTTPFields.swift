public import PosternSupport

/// HTTP header fields: ordered, duplicates kept, names compared without case (RFC 9110 section 5.1).
public struct HTTPFields: Sendable, Hashable {
  /// One field line.
  public struct Field: Sendable, Hashable {
    /// The name as it was given; compared without case.
    public let name: String
    /// The value without surrounding white space.
    public let value: String

    /// A field line of `name` and `value`.
    public init(name: String, value: String) {
      self.name = name
      self.value = value
    }
  }

  /// The field lines in order.
  public private(set) var lines: [Field]

  /// No fields.
  public init() { lines = [] }

  /// The given lines, in order.
  public init(_ lines: [Field]) { self.lines = lines }

  /// The first value of `name`; setting replaces every line of that name (nil removes them).
  public subscript(name: String) -> String? {
    get { lines.first { Self.sameName($0.name, name) }?.value }
    set {
      if lines.contains(where: { Self.sameName($0.name, name) }) {
        lines.removeAll { Self.sameName($0.name, name) }
      }
      if let newValue { lines.append(Field(name: name, value: newValue)) }
    }
  }

  /// Every value of `name` in order.
  public func values(of name: String) -> [String] {
    var values: [String] = []
    for line in lines where Self.sameName(line.name, name) { values.append(line.value) }
    return values
  }

  /// Makes room for so many lines.
  package mutating func reserveCapacity(_ count: Int) { lines.reserveCapacity(count) }

  /// Adds a line at the end.
  public mutating func append(_ name: String, _ value: String) {
    lines.append(Field(name: name, value: value))
  }

  /// Removes the lines whose name `condition` accepts; the name is passed in lower case.
  public mutating func removeAll(where condition: (_ lowercasedName: String) -> Bool) {
    lines.removeAll { condition($0.name.lowercasedASCII()) }
  }

  private static func sameName(_ left: String, _ right: String) -> Bool {
    guard left.utf8.count == right.utf8.count else { return false }
    return ASCII.withBytes(of: left) { left in
      ASCII.withBytes(of: right) { right in
        left.indices.allSatisfy { ASCII.lowercased(left[$0]) == ASCII.lowercased(right[$0]) }
      }
    }
  }
}

extension HTTPFields.Field {
  /// Same bytes. Swift's `==` for strings treats U+037E as a semicolon, which separates cookies.
  public static func == (left: HTTPFields.Field, right: HTTPFields.Field) -> Bool {
    left.name.hasSameBytes(as: right.name) && left.value.hasSameBytes(as: right.value)
  }
}

extension HTTPFields: ExpressibleByDictionaryLiteral {
  /// The given lines, in order; a name may occur more than once.
  public init(dictionaryLiteral lines: (String, String)...) {
    self.init(lines.map { Field(name: $0.0, value: $0.1) })
  }
}

extension HTTPFields: ConciseStringConvertible {
  /// The names: values may be secret.
  public var description: String { Concise.list(lines.map(\.name), of: "field") }
}

extension HTTPFields.Field: ConciseStringConvertible {
  /// The name: the value may be secret.
  public var description: String { "\(Concise.name(name)): \(Concise.count(value.utf8.count, "byte"))" }
}
