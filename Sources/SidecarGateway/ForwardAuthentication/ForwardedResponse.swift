package import HTTPMessages
package import PosternConfiguration
package import PosternJSON
import PosternSupport

/// The response to a front's request: exactly 200, 401 or 403 where there is a verdict.
package struct ForwardedResponse: Sendable, Equatable {
  /// 200, 401, 403, 404 or 503.
  package var status: Int
  /// The fields. For the client: those of a challenge; for the API: those that report the user.
  package var fields: HTTPFields
  /// The identity headers that are empty although their claims are there, for the log.
  package private(set) var emptied: [IdentityFields.Emptied] = []

  private init(status: Int) {
    self.status = status
    fields = ["Cache-Control": "no-store"]
  }

  /// There is no API of that name.
  static let unknownAPI = ForwardedResponse(status: 404)
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
      let identity = IdentityFields(of: claims, at: api)
      for (name, value) in identity.lines { fields.append(name, value) }
      emptied = identity.emptied
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
