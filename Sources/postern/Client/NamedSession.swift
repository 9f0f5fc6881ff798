import Glibc
import PosternJSON
import PosternProtocol

/// The session of a person's calls: on a terminal the uid is the person, so that the only live session is theirs.
enum NamedSession {
  /// Whether a person calls, and no script.
  static var isPerson: Bool { isatty(0) == 1 || isatty(2) == 1 }

  /// The answer to `request`; on a terminal, where it needs a session and names none, to the same with `only`. Nothing
  /// has been sent by the first one.
  static func addingOnly(
    to request: JSONObject, _ send: (JSONObject) throws -> JSONValue
  ) rethrows -> JSONValue {
    let answer = try send(request)
    guard isPerson, lacksSession(answer), request["params"]?["session"] == nil else { return answer }
    var params = request["params"]?.objectValue ?? JSONObject()
    params["session"] = .string(SessionParam.only)
    var request = request
    request["params"] = .object(params)
    return try send(request)
  }

  private static func lacksSession(_ answer: JSONValue) -> Bool {
    if answer["error"]?["data"]?["detail"] == "session_missing" { return true }
    let status = answer["result"]?["status"]
    return answer["result"]?["outcome"] == "failure" && status?["code"] == "authentication_session_missing"
      && status?["status"] == 0
  }
}
