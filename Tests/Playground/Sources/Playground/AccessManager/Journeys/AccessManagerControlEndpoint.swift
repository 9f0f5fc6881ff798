import PosternJSON

/// `GET /playground/accessManager` shows settings, transactions and the links that e-mails would hold; `POST` changes
/// settings, or makes a transaction: `{"transaction": "alice"}`. `DELETE` goes back to the start.
struct AccessManagerControlEndpoint: Endpoint {
  let settings: AccessManagerSettings
  let transactions: TransactionDesk
  let desk: JourneyDesk

  func reply(to request: Request) async throws -> Reply {
    switch request.method {
    case "POST":
      do throws(ControlBody.Problem) {
        let body = try ControlBody(request)
        try body.rejectOthers(than: settings.members.map(\.0) + ["transaction"])
        try settings.change(body)
        if let name = try body.string("transaction") {
          guard let user = PlaygroundUser.named(name) else { return .problem(400, "transaction: no such user") }
          guard let id = transactions.begin(for: user.subject, resource: "none") else { return OAuthError.full.reply }
          return Reply(json: ["txId": .string(id)])
        }
      } catch {
        return .problem(400, error.message)
      }
    case "DELETE":
      settings.reset()
      transactions.removeAll()
      desk.removeAll()
    default: break
    }
    let links = desk.suspended.map { JSONValue.string("/am/XUI/?realm=/\(AccessManager.realm)&suspendedId=\($0)") }
    var json = JSONObject(settings.members)
    json["transactions"] = transactions.json
    json["suspended"] = .array(links)
    return Reply(json: .object(json), headers: [("cache-control", "no-store")])
  }
}
