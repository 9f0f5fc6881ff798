import PosternJSON

/// An enhanced error.
struct AdobePassError: Sendable {
  let code: String
  let status: Int
  let action: String

  init(_ code: String, _ status: Int, _ action: String) {
    self.code = code
    self.status = status
    self.action = action
  }

  /// The error as an object.
  var json: JSONValue {
    [
      "action": .string(action), "status": .integer(Int64(status)), "code": .string(code),
      "message": .string("The double reports \(code)."), "helpUrl": "https://playground.test/errors",
      "trace": .string("trace-\(code)"),
    ]
  }

  /// The error as the answer to a whole request.
  func reply(_ shape: AdobePassSettings.ErrorShape) -> Reply {
    let document: JSONValue =
      switch shape {
      case .bare: json
      case .error: ["error": json]
      case .errors: ["errors": [json]]
      }
    return Reply(status: status, json: document)
  }
}
