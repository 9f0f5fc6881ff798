public import PosternJSON
public import PosternSupport

/// A method's type, erased: what the OpenRPC writer and the documentation need of it.
public struct MethodDescription: Sendable {
  /// A param.
  public struct Param: Sendable {
    /// Its name.
    public let name: String
    /// Its meaning.
    public let summary: String
    /// Whether it must be given.
    public let isRequired: Bool
    /// Its JSON Schema.
    public let schema: JSONValue
  }

  /// The name on the wire.
  public let name: String
  /// One line.
  public let summary: String
  /// Markdown; may be empty.
  public let explanation: String
  /// The params in the order in which the type declares them.
  public let params: [Param]
  /// The result.
  public let resultSummary: String
  /// The result's JSON Schema.
  public let resultSchema: JSONValue
  /// The errors beyond the common ones.
  public let errors: [ErrorCode]
  /// Whether it is never answered.
  public let isNotification: Bool
  /// Whether it is of no use without a connection that stays.
  public let needsConnection: Bool
  /// Members without documentation, or documentation without a member: none, or a test fails.
  public let undocumented: [String]

  /// Describes `method`.
  public init<Method: RPCMethod>(_ method: Method.Type) {
    name = Method.name
    summary = Method.summary
    explanation = Method.explanation
    let members = SchemaRecorder.members(of: Method.Params.self)
    params = members.map {
      Param(name: $0.name, summary: $0.documentation ?? "", isRequired: $0.isRequired, schema: $0.schema)
    }
    resultSummary = Method.resultSummary
    resultSchema = SchemaRecorder.schema(of: Method.Result.self)
    errors = Method.errors
    isNotification = Method.isNotification
    needsConnection = Method.traits.contains(.needsConnection)
    var gaps = Self.gaps(Method.Params.self)
    if let result = Method.Result.self as? any RPCObject.Type { gaps += Self.gaps(result) }
    undocumented = gaps.map { "\(Method.name): \($0)" }
  }

  private static func gaps(_ type: any RPCObject.Type) -> [String] {
    Set(SchemaRecorder.members(of: type).map(\.name)).symmetricDifference(type.memberDocs.keys).sorted()
  }
}
