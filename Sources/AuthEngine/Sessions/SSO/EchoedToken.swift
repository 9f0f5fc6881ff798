import HTTPMessages
import JSON

/// Whether an access manager's answer has a user's token in it, however it is spelt there.
enum EchoedToken {
  static func isIn(_ response: HTTPResponse, _ token: String) -> Bool {
    if String(decoding: response.body, as: UTF8.self).contains(token) { return true }
    // `\u0041` and `\/` are undone by reading; what is written again has no such escapes, and tokens need none.
    guard let document = try? JSONParser(allowsNUL: true).parse(response.body) else { return false }
    return JSONWriter().string(document).contains(token)
  }
}
