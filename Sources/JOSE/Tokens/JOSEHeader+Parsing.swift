import PosternJSON
import PosternSupport

extension JOSEHeader {
  /// Decodes and checks the first part of a token.
  init(part: RawSpan, limits: TokenLimits) throws(JOSEError) {
    self = try RecentHeaders.shared.header(of: part, limits: limits) { () throws(JOSEError) in
      guard let text = Base64URL.decode(part), !text.isEmpty else {
        throw JOSEError(.malformedToken, "header is empty or not base64url")
      }
      return try JOSEHeader(parameters: TokenJSON.object(text, limits: limits, what: "header"))
    }
  }
}

/// The JSON inside tokens: UTF-8, one top-level object, no member twice, bounded depth.
enum TokenJSON {
  static func object(_ text: [UInt8], limits: TokenLimits, what: String) throws(JOSEError) -> JSONObject {
    let value: JSONValue
    do throws(JSONParseError) {
      value = try JSONParser(maxBytes: limits.maxBytes, maxDepth: limits.maxDepth).parse(text)
    } catch {
      let code: JOSEError.Code = error.kind == .duplicateMember ? .duplicateClaim : .malformedToken
      throw JOSEError(code, "\(what) is \(error)")
    }
    guard let object = value.objectValue else {
      throw JOSEError(.malformedToken, "\(what) is not a JSON object")
    }
    return object
  }
}
