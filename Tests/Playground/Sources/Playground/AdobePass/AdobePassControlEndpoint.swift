import PosternJSON

/// `GET /playground/adobe` shows settings and the latest requests; `POST` changes settings, and with
/// `"endTokens": true` or `"forgetClients": true` ends all tokens or registrations. `DELETE` goes back to the start,
/// but for registrations.
struct AdobePassControlEndpoint: Endpoint {
  let settings: AdobePassSettings
  let clients: AdobePassClients
  let throttle: AdobePassThrottle
  let log: AdobePassLog

  func reply(to request: Request) async throws -> Reply {
    switch request.method {
    case "POST":
      do throws(ControlBody.Problem) {
        let body = try ControlBody(request)
        try body.rejectOthers(than: settings.members.map(\.0) + ["endTokens", "forgetClients"])
        let (endsTokens, forgets) = (try body.bool("endTokens"), try body.bool("forgetClients"))
        try settings.change(body)
        if endsTokens == true { clients.endTokens() }
        if forgets == true { clients.forgetAll() }
      } catch {
        return .problem(400, error.message)
      }
    case "DELETE":
      settings.reset()
      throttle.reset()
      log.clear()
    default: break
    }
    var json = JSONObject(settings.members)
    json["requests"] = log.json
    return Reply(json: .object(json), headers: [("cache-control", "no-store")])
  }
}
