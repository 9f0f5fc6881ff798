package import HTTPMessages
import PosternJSON
import PosternSupport

/// Whether what an access manager says has a user's token in it, however it is spelt there.
package enum EchoedToken {
  package static func isIn(_ response: HTTPResponse, _ token: String) -> Bool {
    if isIn(String(decoding: response.body, as: UTF8.self), token) { return true }
    // `\u0041` and `\/` are undone by reading; what is written again has no such escapes, and tokens need none.
    guard let document = try? JSONParser(allowsNUL: true).parse(response.body) else { return false }
    return isIn(JSONWriter().string(document), token)
  }

  /// As it is, or as it stands in a form or a query.
  package static func isIn(_ text: String, _ token: String) -> Bool {
    text.containsBytes(of: token) || text.containsBytes(of: FormEncoding.encode(token))
  }
}
