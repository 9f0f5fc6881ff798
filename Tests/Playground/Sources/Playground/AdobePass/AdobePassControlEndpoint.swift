import PosternJSON

/// `GET /playground/adobe` shows settings, state and the latest requests; `POST` changes settings, prepares `answers`,
/// finishes a `login` without a browser, and ends what its flags name. `DELETE` goes back to the start, but for
/// registrations.
struct AdobePassControlEndpoint: Endpoint {
  let gate: AdobePassGate
  let clients: AdobePassClients
  let service: AdobePassService

  /// The actions of flags, by name.
  private var flags: [(String, @Sendable () -> Void)] {
    let (clients, service) = (clients, service)
    return [
      ("endTokens", { clients.endTokens() }),
      ("forgetClients", { clients.forgetAll() }),
      ("endCodes", { service.sessions.endAll(at: service.now) }),
      ("expireProfiles", { service.profiles.change { $0.notAfter = min($0.notAfter, service.now) } }),
      ("invalidateProfiles", { service.profiles.change { $0.isInvalidated = true } }),
      ("forgetProfiles", { service.profiles.clear() }),
      ("forgetTrials", { service.trials.clear() }),
    ]
  }

  func reply(to request: Request) async throws -> Reply {
    switch request.method {
    case "POST":
      do throws(ControlBody.Problem) {
        try change(ControlBody(request))
      } catch {
        return .problem(400, error.message)
      }
    case "DELETE":
      gate.settings.reset()
      gate.throttle.reset()
      gate.log.clear()
      gate.answers.set([])
      service.clear()
    default: break
    }
    var json = JSONObject(gate.settings.members)
    json["answers"] = .integer(gate.answers.count)
    json["sessions"] = service.sessions.json
    json["profiles"] = service.profiles.json
    json["counts"] = gate.log.counts
    json["requests"] = gate.log.json
    return Reply(json: .object(json), headers: [("cache-control", "no-store")])
  }

  /// Reads the whole body before anything changes.
  private func change(_ body: ControlBody) throws(ControlBody.Problem) {
    let flags = flags
    try body.rejectOthers(than: gate.settings.members.map(\.0) + flags.map(\.0) + ["answers", "login"])
    var ends: [@Sendable () -> Void] = []
    for (name, end) in flags where try body.bool(name) == true { ends.append(end) }
    let logIn = try login(body)
    let answers = try answers(body)
    try gate.settings.change(body)
    if let answers { gate.answers.set(answers) }
    for end in ends { end() }
    logIn?()
  }

  private func answers(_ body: ControlBody) throws(ControlBody.Problem) -> [AdobePassAnswer]? {
    guard let value = body.members["answers"] else { return nil }
    guard let elements = value.arrayValue else { throw ControlBody.Problem(message: "answers: a list is expected") }
    var answers: [AdobePassAnswer] = []
    for element in elements { answers.append(try AdobePassAnswer(element)) }
    return answers
  }

  /// `{"code": …, "user": "alice"}`: the login that a browser would finish.
  private func login(_ body: ControlBody) throws(ControlBody.Problem) -> (@Sendable () -> Void)? {
    guard let value = body.members["login"] else { return nil }
    guard let members = value.objectValue else { throw ControlBody.Problem(message: "login: an object is expected") }
    let login = ControlBody(members: members)
    try login.rejectOthers(than: ["serviceProvider", "code", "user"])
    guard let user = PlaygroundUser.named(try login.string("user") ?? "alice") else {
      throw ControlBody.Problem(message: "login.user: a user of the playground is expected")
    }
    let (code, provider) = (try login.string("code") ?? "", try login.string("serviceProvider") ?? "REF30")
    guard let session = try? service.sessions.session(code, of: provider, at: service.now),
      let mvpd = session.parameters.mvpd
    else { throw ControlBody.Problem(message: "login.code: the code of a session with an MVPD is expected") }
    return { [service] in service.logIn(user, in: session, at: mvpd) }
  }
}
