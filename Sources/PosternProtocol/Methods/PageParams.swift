public import PosternJSON

/// The part of a list that a call requests.
public struct PageParams: RPCObject {
  /// The most entries of a page, and how many there are where the call does not say.
  public static let (most, usual) = (1000, 100)

  public var limit: Int?
  public var cursor: String?

  public static let memberDocs = [
    "limit": "How many entries at most, from 1 to 1,000; default 100. There may be fewer where they are large",
    "cursor": "The nextCursor of the page before; good for the same user id, until the sidecar restarts",
  ]
}

/// A page of a list. Its entries are written one by one, until the page has its size.
public protocol PageResult: WrittenResult {
  /// What is listed.
  associatedtype Entry: RPCObject
  /// The name of the member with the entries.
  static var member: StaticString { get }
  /// The entries.
  var entries: [PageEntry<Entry>] { get }
  /// The cursor of the next page; nil on the last page.
  var nextCursor: String? { get }
  /// A page with these entries.
  init(_ entries: [PageEntry<Entry>], nextCursor: String?)
}

extension PageResult {
  public func write(to text: borrowing JSONComposer) {
    text.literal("{\"")
    text.literal(Self.member)
    text.literal("\":[")
    for (index, entry) in entries.enumerated() {
      if index > 0 { text.literal(",") }
      text.written(entry.text)
    }
    text.literal("]")
    if let nextCursor {
      text.literal(",\"nextCursor\":")
      text.string(nextCursor)
    }
    text.literal("}")
  }
}

/// An entry of a page, written.
public struct PageEntry<Value: RPCObject>: SchemaDescribed, Sendable {
  /// The text of the value.
  public let text: JSONText

  /// Writes `value`; throws `EncodingError`.
  public init(_ value: Value) throws { text = JSONText(try JSONValueEncoder().encode(value)) }

  public init(from decoder: any Decoder) throws { try self.init(Value(from: decoder)) }

  public func encode(to encoder: any Encoder) throws { try text.value.encode(to: encoder) }

  /// That of the value.
  public static var schema: JSONValue { SchemaRecorder.schema(of: Value.self) }
  /// No entry: a list without any is a sample of the list.
  public static var sample: PageEntry { PageEntry(text: JSONText(.null)) }

  private init(text: JSONText) { self.text = text }
}
