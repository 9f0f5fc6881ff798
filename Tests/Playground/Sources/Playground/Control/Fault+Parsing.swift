import PosternJSON

extension Fault {
  /// Why a request to switch faults is not understood.
  struct ParsingError: Error {
    let message: String
  }

  /// Parses `{kind, times?, delayMs?, retryAfterSeconds?}` for `point`.
  init(_ json: JSONValue, at point: Point) throws(ParsingError) {
    guard let object = json.objectValue else { throw ParsingError(message: "\(point.rawValue): an object is expected") }
    guard let name = object["kind"]?.stringValue, let kind = Kind(rawValue: name), point.kinds.contains(kind) else {
      let known = point.kinds.map(\.rawValue).sorted().joined(separator: ", ")
      throw ParsingError(message: "\(point.rawValue).kind: one of \(known) is expected")
    }
    if let unknown = object.names.first(where: { !["kind", "times", "delayMs", "retryAfterSeconds"].contains($0) }) {
      throw ParsingError(message: "\(point.rawValue).\(unknown): unknown member")
    }
    self.kind = kind
    times = try Self.integer(object, "times", in: 1...1_000_000, at: point)
    delayMilliseconds = try Self.integer(object, "delayMs", in: 0...Limits.delayMilliseconds, at: point) ?? 1000
    retryAfterSeconds = try Self.integer(object, "retryAfterSeconds", in: 0...86_400, at: point) ?? 1
  }

  private static func integer(
    _ object: JSONObject, _ name: String, in range: ClosedRange<Int>, at point: Point
  ) throws(ParsingError) -> Int? {
    guard let value = object[name] else { return nil }
    guard let number = value.integerValue, let integer = Int(exactly: number), range.contains(integer) else {
      throw ParsingError(message: "\(point.rawValue).\(name): a whole number within \(range) is expected")
    }
    return integer
  }
}
