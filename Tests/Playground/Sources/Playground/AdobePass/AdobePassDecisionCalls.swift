import PosternJSON

/// E9 and E10: decisions about resources.
struct AdobePassDecisionCalls: Sendable {
  let service: AdobePassService
  private let decisions = AdobePassDecisions()

  init(service: AdobePassService) { self.service = service }

  /// E9. Without `needsProfile` no login is needed, and any MVPD will do: only the resources' names decide.
  func preauthorize(_ request: AdobePassRequest) throws(AdobePassError) -> Reply {
    let values = service.settings.values
    let mvpd = AdobePassMVPD.all.first { $0.id == request.mvpd }
    if values.needsProfile || mvpd?.isActive == false { _ = try AdobePassMVPD.named(request.mvpd) }
    guard request.resources.count <= values.maxResources else {
      if values.emptiesTooMany { return Reply(json: ["decisions": []]) }
      throw AdobePassError("too_many_resources")
    }
    let (now, limits) = (service.now, values.trial)
    let login = values.needsProfile ? fault(of: request) : nil
    return reply(to: request, values) { _ in
      if let mvpd, mvpd.trial != nil {
        let fault = service.trials.fault(mvpd, request.binding, at: now, limits)
        return fault.map { .denies($0, source: "temppass") } ?? .permits(source: "temppass")
      }
      return login.map { .denies($0, source: "mvpd") } ?? .open
    }
  }

  /// E10: a login, a trial or an operator's rule is needed.
  func authorize(_ request: AdobePassRequest) throws(AdobePassError) -> Reply {
    let values = service.settings.values
    let mvpd = try AdobePassMVPD.named(request.mvpd)
    guard request.resources.count <= values.maxAuthorized else { throw AdobePassError("too_many_resources") }
    let login = mvpd.trial == nil ? fault(of: request) : nil
    let (now, limits) = (service.now, values.trial)
    let reply = reply(to: request, values) { resource in
      guard let trial = mvpd.trial else { return login.map { .denies($0, source: "mvpd") } ?? .open }
      guard trial == .basic || request.identity != nil else {
        return .denies(AdobePassError("invalid_header_identity_for_temporary_access"), source: "temppass")
      }
      let fault = service.trials.use(resource, mvpd, request.binding, request.identity, at: now, limits)
      return fault.map { .denies($0, source: "temppass") } ?? .permits(source: "temppass")
    }
    if login == nil { service.profiles.enrich(mvpd.id, of: request.binding) }
    return reply
  }

  /// Why there is no login for `request`.
  private func fault(of request: AdobePassRequest) -> AdobePassError? {
    if case .fault(let fault) = service.profiles.finding(request.mvpd, for: request, at: service.now) { return fault }
    return nil
  }

  private func reply(
    to request: AdobePassRequest, _ values: AdobePassSettings.Values, gate: (String) -> AdobePassDecisions.Gate
  ) -> Reply {
    let context = AdobePassDecisions.Context(
      serviceProvider: request.binding.serviceProvider, mvpd: request.mvpd, authorizes: request.call == .authorize,
      degradation: values.degradation, lifetimes: values.lifetimes, now: service.now)
    let rows = decisions.rows(about: request.resources, in: context, gate: gate)
    return Reply(json: ["decisions": .array(values.reverses ? rows.reversed() : rows)])
  }
}
