public import PosternJSON

/// A response's body whose type is textual. If it turns out not to be UTF-8, it is written in base64 after all: whether
/// it is comes to light while it is written.
public struct ResponseBody: SchemaDescribed, Sendable {
  /// The bytes.
  public let bytes: [UInt8]

  /// A body of these bytes.
  public init(_ bytes: [UInt8]) { self.bytes = bytes }

  /// The body as text.
  public var text: String { String(decoding: bytes, as: UTF8.self) }

  /// Takes a string.
  public init(from decoder: any Decoder) throws { bytes = Array(try String(from: decoder).utf8) }

  /// A string.
  public func encode(to encoder: any Encoder) throws { try text.encode(to: encoder) }

  /// A string.
  public static var schema: JSONValue { ["type": "string"] }
  /// An empty body.
  public static var sample: ResponseBody { ResponseBody([]) }
}
