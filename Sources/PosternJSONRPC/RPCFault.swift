public import PosternJSON

/// An error as it goes over the wire: code, message, and data with at least `reason`.
public struct RPCFault: Error, Sendable {
  /// Code and reason.
  public let code: RPCErrorCode
  /// A sentence for people; never holds a secret.
  public let message: String
  /// Members of `data` beside `reason`.
  public var data: JSONObject

  /// A fault; without a message the code's own summary stands.
  public init(_ code: RPCErrorCode, _ message: String? = nil, data: JSONObject = JSONObject()) {
    self.code = code
    self.message = message ?? code.summary
    self.data = data
  }

  /// The params do not fit: `path` is a JSON Pointer into them.
  public static func invalidParams(_ message: String, path: String) -> RPCFault {
    RPCFault(.invalidParams, message, data: ["path": .string(path)])
  }

  /// The `error` member.
  public var jsonValue: JSONValue {
    var members = JSONObject()
    members["reason"] = .string(code.reason)
    for member in data.members { members[member.name] = member.value }
    return [
      "code": .integer(Int64(code.code)),
      "message": .string(message),
      "data": .object(members),
    ]
  }
}

extension RPCFault: Equatable {
  /// Same code; tests compare faults without matching prose.
  public static func == (left: RPCFault, right: RPCFault) -> Bool { left.code == right.code }
}

extension RPCFault {
  /// The fault for params that could not be decoded.
  public init(_ error: JSONDecodingError) {
    self = .invalidParams(error.description, path: error.path)
  }
}
