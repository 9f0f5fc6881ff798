import PosternJSON
import PosternSupport

/// `POST /oidc/device_authorization` (RFC 8628 section 3.1).
struct DeviceAuthorizationEndpoint: Endpoint {
  let issuer: String
  let authentication: ClientAuthentication
  let codes: DeviceCodes
  let faults: Faults
  let statistics: Statistics

  func reply(to request: Request) async throws -> Reply {
    statistics.count(\.deviceAuthorizationRequests)
    if let reply = try await faults.strike(.deviceAuthorization)?.generalReply { return reply }
    do throws(OAuthError) {
      let form = try OAuthForm.parse(request)
      let client = try authentication.client(of: request, form: form)
      guard client.grants.contains(.deviceCode) else {
        throw OAuthError(.unauthorizedClient, "the client is not registered for devices")
      }
      let allowed = form["scope"] == nil ? Scopes.withoutUser(of: client) : client.scopes
      let (deviceCode, userCode) = try codes.issue(
        to: client, scopes: try Scopes.granted(form["scope"], of: allowed), resources: try Targets.requested(form))
      return Reply(
        json: [
          "device_code": .string(deviceCode),
          "user_code": .string(userCode),
          "verification_uri": .string(issuer + "/device"),
          "verification_uri_complete": .string(issuer + "/device?user_code=" + userCode),
          "expires_in": .integer(DeviceCodes.lifetime.wholeMilliseconds / 1000),
          "interval": .integer(DeviceCodes.interval.wholeMilliseconds / 1000),
        ],
        headers: OAuthError.noStore)
    } catch {
      return error.reply
    }
  }
}
