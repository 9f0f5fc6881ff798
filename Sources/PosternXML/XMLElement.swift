/// One element of a document: what stands in it, comments and processing instructions left out.
public struct XMLElement: Sendable, Hashable {
  /// One `name="value"`.
  public struct Attribute: Sendable, Hashable {
    /// The name as written, prefix included.
    public let name: String
    /// The value, references resolved.
    public let value: String
  }

  /// The name as written, prefix included.
  public let name: String
  /// The attributes in order; no name twice.
  public let attributes: [Attribute]
  /// The elements directly inside, in order.
  public internal(set) var children: [XMLElement] = []
  /// The character data directly inside, put together.
  public internal(set) var text = ""

  /// The value of the attribute of that name.
  public subscript(name: String) -> String? { attributes.first { $0.name == name }?.value }

  /// The elements of that name directly inside.
  public func children(_ name: String) -> [XMLElement] { children.filter { $0.name == name } }
}
