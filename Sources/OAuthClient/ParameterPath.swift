public import PosternSupport

/// The parameter of a call that an error is about: member names and positions, from the outermost to the innermost.
///
/// `["headers", .name(name)]`, `["multipart", .position(2), "name"]`.
public struct ParameterPath: Sendable, Hashable, ExpressibleByArrayLiteral {
  /// One step inwards.
  public enum Component: Sendable, Hashable, ExpressibleByStringLiteral {
    /// The member of that name.
    case name(String)
    /// The element at that position, from 0.
    case position(Int)

    /// The member of that name.
    public init(stringLiteral name: String) { self = .name(name) }
  }

  /// The steps; none means all of the parameters.
  public let components: [Component]

  /// The path of those steps.
  public init(arrayLiteral components: Component...) { self.components = components }

  /// The path of those steps.
  public init(_ components: [Component]) { self.components = components }

  /// The path as a JSON Pointer (RFC 6901 section 3), for those who report the error.
  public var jsonPointer: String {
    components.reduce(into: "") { pointer, component in
      pointer += "/"
      switch component {
      case .name(let name): pointer += Self.escaped(name)
      case .position(let position): pointer += "\(position)"
      }
    }
  }

  private static func escaped(_ name: String) -> String {
    let bytes = name.utf8.flatMap { byte -> [UInt8] in
      switch byte {
      case UInt8(ascii: "~"): Array("~0".utf8)
      case UInt8(ascii: "/"): Array("~1".utf8)
      default: [byte]
      }
    }
    return String(decoding: bytes, as: UTF8.self)
  }
}

extension ParameterPath: ConciseStringConvertible {
  /// The JSON Pointer.
  public var description: String { components.isEmpty ? "all parameters" : Concise.text(jsonPointer) }
}

extension ParameterPath.Component: ConciseStringConvertible {
  /// Name or position.
  public var description: String {
    switch self {
    case .name(let name): Concise.name(name)
    case .position(let position): "\(position)"
    }
  }
}
