import PosternJSON
import PosternSupport

/// E6 to E8, E11 and E13: profiles and their end.
struct AdobePassProfileCalls: Sendable {
  let service: AdobePassService

  /// E6: regular, partner's and shared profiles. Whether others ever show here is not published: they do not.
  func all(_ request: AdobePassRequest) throws(AdobePassError) -> JSONValue {
    AdobePassService.profiles(service.profiles.all(for: request, at: service.now))
  }

  /// E7.
  func one(_ request: AdobePassRequest) throws(AdobePassError) -> JSONValue {
    let mvpd = try AdobePassMVPD.named(request.mvpd)
    if let special = try special(mvpd, request.binding, request.identity) {
      return AdobePassService.profiles([(mvpd.id, special)])
    }
    switch service.profiles.finding(mvpd.id, for: request, at: service.now) {
    case .live(let profile, let type): return AdobePassService.profiles([(mvpd.id, profile.json(as: type))])
    case .fault(let fault):
      // A partner's status that came and is no good is an error; a login that is over is none.
      if fault.code.hasPrefix("invalid_header_pfs"), request.partner != nil { throw fault }
      return AdobePassService.profiles([])
    }
  }

  /// E8: an empty map until the login is finished.
  func code(_ request: AdobePassRequest) throws(AdobePassError) -> JSONValue {
    let code = request.captures["code"] ?? ""
    let session = try service.sessions.session(code, of: request.binding.serviceProvider, at: service.now)
    guard let name = session.parameters.mvpd else { return AdobePassService.profiles([]) }
    let mvpd = try AdobePassMVPD.named(name)
    if let special = try special(mvpd, session.binding, request.identity) {
      return AdobePassService.profiles([(name, special)])
    }
    let profile = service.profiles.profile(of: session.binding, at: name, service.now)
    return AdobePassService.profiles(profile.map { [(name, $0.json(as: "regular"))] } ?? [])
  }

  /// E13.
  func partner(_ request: AdobePassRequest) throws(AdobePassError) -> Reply {
    _ = try AdobePassSessionCalls.partner(of: request)
    guard let status = request.partner else {
      throw AdobePassError("invalid_header_pfs_permission_access_not_present")
    }
    if let fault = status.fault(for: nil, at: service.now) { throw fault }
    guard let mvpd = status.mvpd else { throw AdobePassError("invalid_header_pfs_provider_id_not_determined") }
    if service.settings.values.degradation == .authenticateAll {
      return Reply(json: AdobePassService.profiles([(mvpd.id, service.degradedProfile(mvpd.id))]))
    }
    guard mvpd.boardingStatus == "SUPPORTED" else {
      throw AdobePassError("invalid_configuration_mvpd_platform_boarding_status")
    }
    // Encoded once: what is left after the form's decoding is base64 of XML, with nothing around it.
    guard let saml = request.parameters["SAMLResponse"].flatMap({ Base64.decode($0) }),
      saml.first == UInt8(ascii: "<"), saml.last == UInt8(ascii: ">")
    else { throw AdobePassError("invalid_parameter_saml_response") }
    let now = service.now
    let profile = AdobePassProfile(
      binding: request.binding, subjects: AdobePassSubjects(), mvpd: mvpd.id, origin: .partner, user: "partner-user",
      notBefore: now, notAfter: now + service.settings.values.lifetimes.profile * 1000)
    service.profiles.add(profile)
    return Reply(status: 201, json: AdobePassService.profiles([(mvpd.id, profile.json(as: "appleSSO"))]))
  }

  /// E11.
  func logOut(_ request: AdobePassRequest) throws(AdobePassError) -> JSONValue {
    let mvpd = try AdobePassMVPD.named(request.mvpd)
    let destination = request.parameters["redirectUrl"]
    if let destination, !AdobePassParameters.isAbsolute(destination) {
      throw AdobePassError("invalid_parameter_redirect_url")
    }
    let removed = service.profiles.remove(request, at: service.now)
    var (name, type) = ("invalid", "none")
    if mvpd.trial != nil || service.settings.values.degradation == .authenticateAll {
      name = "complete"
    } else if removed.contains(where: { $0.origin == .browser }) {
      (name, type) = mvpd.hasLogout ? ("logout", "interactive") : ("complete", "none")
    } else if !removed.isEmpty {
      (name, type) = ("partner_logout", "partner_interactive")
    }
    var entry: JSONObject = [
      "actionName": .string(name), "actionType": .string(type), "mvpd": .string(mvpd.id),
    ]
    if name == "logout" {
      let query = [
        ("requestor_id", request.binding.serviceProvider), ("mso_id", mvpd.id), ("redirect_url", destination ?? ""),
      ]
      let text = query.map { "\($0)=\(PercentCoding.encode($1))" }.joined(separator: "&")
      entry["url"] = service.url("/adobe/adobe-services/logout?" + text)
    }
    return ["logouts": .object(JSONObject([(mvpd.id, .object(entry))]))]
  }

  /// The profile while logins are degraded, or of a trial; nil at an MVPD with accounts.
  private func special(
    _ mvpd: AdobePassMVPD, _ binding: AdobePassBinding, _ identity: String?
  ) throws(AdobePassError) -> JSONValue? {
    if service.settings.values.degradation == .authenticateAll { return service.degradedProfile(mvpd.id) }
    guard let trial = mvpd.trial else { return nil }
    guard trial == .basic || identity != nil else {
      throw AdobePassError("invalid_header_identity_for_temporary_access")
    }
    return try service.trials.profile(mvpd, binding, identity, at: service.now, service.settings.values.trial)
  }
}
