/// An object of the wire contract whose members are documented; the schema's kinds come from its `Codable` conformance.
public protocol RPCObject: Codable, Sendable {
  /// The meaning of each member, by its name on the wire. A test checks that none is missing or left over.
  static var memberDocs: [String: String] { get }
}

/// No params at all.
public struct NoParams: RPCObject {
  private enum CodingKeys: CodingKey {}

  /// No params.
  public init() {}

  /// Decodes an object without members: any member is an error.
  public init(from decoder: any Decoder) throws { _ = try decoder.container(keyedBy: CodingKeys.self) }

  /// An empty object.
  public func encode(to encoder: any Encoder) throws { _ = encoder.container(keyedBy: CodingKeys.self) }

  /// Nothing to document.
  public static let memberDocs: [String: String] = [:]
}
