package import HTTPMessages
package import PosternConfiguration
package import PosternJSON
import PosternSupport

/// The response to a front's request: exactly 200, 401 or 403 where there is a verdict.
package struct ForwardedResponse: Sendable, Equatable {
  /// 200, 401, 403, 404, 500 or 503.
  package var status: Int
  /// The fields. For the client: those of a challenge; for the API: those that report the user.
  package var fields: HTTPFields

  private init(status: Int) {
    self.status = status
    fields = ["Cache-Control": "no-store"]
  }

  /// There is no API of that name.
  package static let unknownAPI = ForwardedResponse(status: 404)
  /// The front's request cannot be judged, or the front may not make any.
  package static let forbidden = ForwardedResponse(status: 403)
  /// There is no verdict. Without a challenge: the client would throw a good token away.
  package static let unavailable: ForwardedResponse = {
    var response = ForwardedResponse(status: 503)
    response.fields.append("Retry-After", "1")
    return response
  }()

  /// The response to a result of `validateRequest`. What is no result of it, is no 200.
  package init(_ result: JSONValue, at api: ProtectedAPIConfiguration) {
    switch (result["valid"], result["claims"], result["response"]) {
    case (.bool(true), .object(let claims)?, nil):
      self.init(status: 200)
      for name in api.identityHeaders.keys.sorted() {
        guard let text = ClaimText.field(of: api.identityHeaders[name].flatMap { claims[$0] }) else {
          self.init(status: 500)
          return
        }
        fields.append(name, text)
      }
    case (.bool(false), nil, .object(let response)?): self.init(rejection: response)
    default: self = .unavailable
    }
  }

  /// A rejection with its challenge. Fronts pass on 401 and 403 only: a malformed request is 403.
  private init(rejection response: JSONObject) {
    switch response["status"]?.integerValue {
    case 401: self.init(status: 401)
    case 400, 403: self.init(status: 403)
    default:
      self = .unavailable
      return
    }
    for (name, value) in (response["headers"]?.objectValue?.members ?? []).map({ ($0.name, $0.value) }) {
      guard let known = ["WWW-Authenticate", "DPoP-Nonce"].first(where: { $0.hasSameASCIILetters(as: name) })
      else { continue }
      let values = value.arrayValue?.compactMap(\.stringValue) ?? [value.stringValue].compactMap { $0 }
      for value in values where HTTPFieldRules.isValue(value) { fields.append(known, value) }
    }
  }
}

/// Writes a claim as the value of a header field.
enum ClaimText {
  /// Longer values do not fit into the buffers of fronts.
  private static let maxBytes = 4096

  /// Printable ASCII: strings, numbers and truth values as they are, lists of strings with commas between them. Other
  /// bytes than printable ones are percent-encoded, as are `%`, a space at either end, and a comma in a list, so that
  /// two texts stay different and none adds a field. Empty for a missing claim; nil: the claim cannot be written.
  static func field(of claim: JSONValue?) -> String? {
    guard let text = text(of: claim), text.utf8.count <= maxBytes else { return nil }
    return text
  }

  private static func text(of claim: JSONValue?) -> String? {
    switch claim {
    case nil, .null: return ""
    case .string(let text): return encoded(text)
    case .integer(let number): return String(number)
    case .bool(let value): return value ? "true" : "false"
    case .array(let elements):
      let texts = elements.compactMap { $0.stringValue.map { encoded($0, alsoEscaping: UInt8(ascii: ",")) } }
      return texts.count == elements.count ? texts.joined(separator: ",") : nil
    case .real, .object: return nil
    }
  }

  private static func encoded(_ text: String, alsoEscaping separator: UInt8 = UInt8(ascii: "%")) -> String {
    let bytes = Array(text.utf8)
    var result: [UInt8] = []
    result.reserveCapacity(bytes.count)
    for (index, byte) in bytes.enumerated() {
      let isAtEnd = index == 0 || index == bytes.count - 1
      let isPlain = byte > 0x20 ? byte < 0x7F : byte == 0x20 && !isAtEnd
      if isPlain, byte != UInt8(ascii: "%"), byte != separator {
        result.append(byte)
      } else {
        result += "%".utf8
        let digits = String(byte, radix: 16, uppercase: true)
        result += (digits.utf8.count == 1 ? "0\(digits)" : digits).utf8
      }
    }
    return String(decoding: result, as: UTF8.self)
  }
}
