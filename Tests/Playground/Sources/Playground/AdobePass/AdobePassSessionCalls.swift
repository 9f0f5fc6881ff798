import PosternJSON

/// E1 to E4 and E12: the configuration, and the sessions that lead to a login.
struct AdobePassSessionCalls: Sendable {
  let service: AdobePassService

  /// E1.
  func configuration(_ request: AdobePassRequest) throws(AdobePassError) -> JSONValue {
    let mvpds = JSONValue.array(AdobePassMVPD.all.filter(\.isActive).map(\.json))
    let separate = service.settings.values.separatesMVPDs
    let domains = ["adobe.com", "example.com", "127.0.0.1", "localhost"]
    var requestor: JSONObject = [
      "id": .string(request.binding.serviceProvider), "name": .string("Service \(request.binding.serviceProvider)"),
      "domains": .array(domains.map { ["name": .string($0), "mvpdInitiated": false] }),
    ]
    if !separate { requestor["mvpds"] = mvpds }
    var answer: JSONObject = [
      "device": "unknown", "clientType": "html5", "os": "Unknown", "requestor": .object(requestor),
      "time": .string(String(service.now)),
    ]
    if separate { answer["mvpds"] = mvpds }
    return .object(answer)
  }

  /// E2.
  func create(_ request: AdobePassRequest) throws(AdobePassError) -> JSONValue {
    let parameters = try AdobePassParameters(request)
    if let mvpd = parameters.mvpd, let reason = try reason(mvpd, request) { return authorized(mvpd, reason, request) }
    let session = begin(request, parameters)
    return parameters.missing.isEmpty ? authenticate(session, "none") : resume(session, "resume", "none")
  }

  /// E3. What it leads to counts for the device that began the session, whatever device continues it.
  func resume(_ request: AdobePassRequest) throws(AdobePassError) -> JSONValue {
    let code = request.captures["code"] ?? ""
    let given = try AdobePassParameters(request)
    _ = try service.sessions.session(code, of: request.binding.serviceProvider, at: service.now)
    service.sessions.complete(code, with: given)
    let session = try service.sessions.session(code, of: request.binding.serviceProvider, at: service.now)
    guard session.parameters.missing.isEmpty, let mvpd = session.parameters.mvpd else {
      return resume(session, "retry", "none")
    }
    if let reason = try reason(mvpd, request, session.binding) { return authorized(mvpd, reason, request) }
    return authenticate(session, "none")
  }

  /// E4. As in the samples `domainName` is called so only while something is missing, and unknown members of the device
  /// are null.
  func session(_ request: AdobePassRequest) throws(AdobePassError) -> JSONValue {
    let code = request.captures["code"] ?? ""
    let session = try service.sessions.session(code, of: request.binding.serviceProvider, at: service.now)
    let missing = session.parameters.missing
    var existing: JSONObject = ["serviceProvider": .string(session.binding.serviceProvider)]
    existing["mvpd"] = session.parameters.mvpd.map(JSONValue.string)
    existing[missing.isEmpty ? "domain" : "domainName"] = session.parameters.domainName.map(JSONValue.string)
    existing["redirectUrl"] = session.parameters.redirectURL.map(JSONValue.string)
    var answer: JSONObject = [
      "existingParameters": .object(existing), "notBefore": .string(String(session.notBefore)),
      "notAfter": .string(String(session.notAfter)), "device": Self.device(of: session),
    ]
    if !missing.isEmpty { answer["missingParameters"] = .array(missing.map(JSONValue.string)) }
    return .object(answer)
  }

  private static func device(of session: AdobePassSession) -> JSONValue {
    let version: JSONValue = ["major": 0, "minor": 0, "patch": 0, "profile": ""]
    func part(_ name: String) -> JSONValue { session.information[name] ?? .null }
    return [
      "type": part("primaryHardwareType"), "model": part("model"), "version": version,
      "hardware": [
        "name": part("model"), "vendor": part("vendor"), "version": version, "manufacturer": part("manufacturer"),
      ],
      "operatingSystem": [
        "name": part("osName"), "family": part("osFamily"), "vendor": part("osVendor"), "version": version,
      ],
      "browser": .null, "display": .null, "applicationId": part("applicationId"),
      "connection": [
        "ipAddress": session.address.map(JSONValue.string) ?? .null, "port": part("connectionPort"), "secure": false,
        "type": part("connectionType"),
      ],
    ]
  }

  /// E12.
  func partner(_ request: AdobePassRequest) throws(AdobePassError) -> JSONValue {
    let partner = try Self.partner(of: request)
    var parameters = try AdobePassParameters(request)
    let provider = request.partner?.mvpd
    parameters.mvpd = provider?.id
    if service.settings.values.degradation == .authenticateAll, let provider {
      return authorized(provider.id, "degraded", request)
    }
    if let provider, let reason = try reason(provider.id, request) { return authorized(provider.id, reason, request) }
    guard parameters.domainName != nil, parameters.redirectURL != nil else {
      return resume(begin(request, parameters), "resume", "missing_parameters_fallback")
    }
    guard let provider, let status = request.partner, status.fault(for: nil, at: service.now) == nil else {
      return authenticate(begin(request, parameters), "pfs_fallback")
    }
    guard provider.boardingStatus == "SUPPORTED" else {
      return authenticate(begin(request, parameters), "configuration_fallback")
    }
    let path = AdobePassService.path(request.binding.serviceProvider) + "/profiles/sso/" + PercentCoding.encode(partner)
    return [
      "actionName": "partner_profile", "actionType": "direct", "reasonType": "none", "url": service.url(path),
      "sessionId": .string(RandomText.uuid()), "mvpd": .string(provider.id),
      "serviceProvider": .string(request.binding.serviceProvider),
      "authenticationRequest": [
        "type": "saml", "request": "PHNhbWxwOkF1dGhuUmVxdWVzdC8+", "attributesNames": ["uid", "NameID", "uniqueId"],
      ],
    ]
  }

  /// The partner that the path names: Apple, in either spelling.
  static func partner(of request: AdobePassRequest) throws(AdobePassError) -> String {
    guard let partner = request.captures["partner"], ["Apple", "apple"].contains(partner) else {
      throw AdobePassError("invalid_parameter_partner")
    }
    return partner
  }

  /// Why `mvpd` can be used without a login; nil when it cannot.
  private func reason(
    _ mvpd: String, _ request: AdobePassRequest, _ binding: AdobePassBinding? = nil
  ) throws(AdobePassError) -> String? {
    if service.settings.values.degradation == .authenticateAll { return "degraded" }
    if try AdobePassMVPD.named(mvpd).trial != nil { return "temporary" }
    if let binding, binding != request.binding {
      return service.profiles.profile(of: binding, at: mvpd, service.now) == nil ? nil : "authenticated"
    }
    guard case .live(_, let type) = service.profiles.finding(mvpd, for: request, at: service.now) else { return nil }
    return type == "regular" ? "authenticated" : "authenticatedSSO"
  }

  private func begin(_ request: AdobePassRequest, _ parameters: AdobePassParameters) -> AdobePassSession {
    let now = service.now
    return service.sessions.begin(
      request, parameters, at: now, until: now + service.settings.values.lifetimes.code * 1000)
  }

  private func authorized(_ mvpd: String, _ reason: String, _ request: AdobePassRequest) -> JSONValue {
    let path = AdobePassService.path(request.binding.serviceProvider) + "/decisions/authorize/"
    return [
      "actionName": "authorize", "actionType": "direct", "reasonType": .string(reason),
      "url": service.url(path + PercentCoding.encode(mvpd)), "sessionId": .string(RandomText.uuid()),
      "mvpd": .string(mvpd), "serviceProvider": .string(request.binding.serviceProvider),
    ]
  }

  private func authenticate(_ session: AdobePassSession, _ reason: String) -> JSONValue {
    let provider = PercentCoding.encode(session.binding.serviceProvider)
    return answer(
      session, "authenticate", "interactive", reason, url: "/adobe/api/v2/authenticate/\(provider)/\(session.code)")
  }

  private func resume(_ session: AdobePassSession, _ name: String, _ reason: String) -> JSONValue {
    let path = AdobePassService.path(session.binding.serviceProvider) + "/sessions/" + session.code
    return answer(session, name, "direct", reason, url: path)
  }

  private func answer(
    _ session: AdobePassSession, _ name: String, _ type: String, _ reason: String, url: String
  ) -> JSONValue {
    var answer: JSONObject = [
      "actionName": .string(name), "actionType": .string(type), "reasonType": .string(reason),
      "url": service.url(url), "code": .string(session.code), "sessionId": .string(session.id),
      "serviceProvider": .string(session.binding.serviceProvider), "notBefore": .string(String(session.notBefore)),
      "notAfter": .string(String(session.notAfter)),
    ]
    answer["mvpd"] = session.parameters.mvpd.map(JSONValue.string)
    let missing = session.parameters.missing
    if type == "direct", !missing.isEmpty { answer["missingParameters"] = .array(missing.map(JSONValue.string)) }
    return .object(answer)
  }
}
