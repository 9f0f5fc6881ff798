import HTTPMessages
import OAuthClient
import PosternJSON
import PosternSupport

extension AccessManagerClient {
  /// The authenticate endpoint's protocol version.
  private static let authenticateVersion = "resource=2.1, protocol=1.0"

  /// Sends `body` to the authenticate endpoint of the manager's realm, with `cookie`.
  func authenticate(
    _ body: JSONValue, _ query: [(name: String, value: String)], cookie: String?, of manager: AccessManager,
    for issuer: Issuer, in scope: CallScope
  ) async throws(TokenError) -> HTTPResponse {
    let encoded = query.map { pair in
      "\(PercentEncoding.encode(pair.name, for: .pathSegment))=\(PercentEncoding.encode(pair.value, for: .pathSegment))"
    }
    let url = try manager.url("/json\(manager.realmPath)/authenticate", query: encoded.joined(separator: "&"))
    var fields = HTTPFields()
    fields["Accept-API-Version"] = Self.authenticateVersion
    fields["Accept"] = "application/json"
    fields["Content-Type"] = "application/json"
    // The access manager's filter against forged requests demands one of these fields.
    fields["X-Requested-With"] = "postern"
    fields["Cookie"] = cookie
    return try await send(
      HTTPRequest(method: "POST", url: url, fields: fields, body: JSONWriter().write(body)), for: issuer, in: scope)
  }
}
