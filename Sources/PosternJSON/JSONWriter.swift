import CPosternJansson

/// jansson as a writer: compact by default, one line, member order kept.
public struct JSONWriter: Sendable {
  /// Whether to indent by two spaces, for people.
  public var pretty: Bool

  /// A writer; compact unless `pretty`.
  public init(pretty: Bool = false) { self.pretty = pretty }

  /// The text of `value`, without a line feed behind it.
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
