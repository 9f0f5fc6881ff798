package import AuthEngine
import PosternJSON
package import PosternProtocol
import PosternSupport

// The engine's values as the results of `pass.*`.

extension PassMethods.GetConfiguration.Result {
  package init(_ configuration: PassConfiguration) {
    self.init(
      serviceProvider: configuration.serviceProvider,
      domains: configuration.domains.map { .init(name: $0.name, mvpdInitiated: $0.isMVPDInitiated) },
      mvpds: configuration.mvpds.map { .init($0) }, cached: configuration.isCached,
      expiresAt: configuration.expiresAt.rfc3339)
    displayName = configuration.displayName
  }
}

extension PassMethods.GetConfiguration.Mvpd {
  fileprivate init(_ mvpd: PassMVPD) {
    self.init(id: mvpd.id)
    displayName = mvpd.displayName
    logoUrl = mvpd.logoURL
    boardingStatus = mvpd.boardingStatus
    platformMappingId = mvpd.platformMappingID
    isTempPass = mvpd.flags.contains(.isTempPass)
    isProxy = mvpd.flags.contains(.isProxy)
    enablePlatformServices = mvpd.flags.contains(.enablePlatformServices)
    displayInPlatformPicker = mvpd.flags.contains(.displayInPlatformPicker)
    enforcePlatformPermissions = mvpd.flags.contains(.enforcePlatformPermissions)
    authPerAggregator = mvpd.flags.contains(.authPerAggregator)
    authPerBrowserSession = mvpd.flags.contains(.authPerBrowserSession)
    passiveAuthnEnabled = mvpd.flags.contains(.passiveAuthnEnabled)
  }
}

extension PassMethods.Session {
  package init(_ session: PassSession) {
    self.init(
      actionName: session.actionName, actionType: session.actionType, missingParameters: session.missingParameters)
    reasonType = session.reasonType
    serviceProvider = session.serviceProvider
    sessionId = session.sessionID
    code = session.code
    url = session.url
    mvpd = session.mvpd
    authenticationRequest = session.authenticationRequest.map {
      .init(type: $0.type, request: $0.request, attributesNames: $0.attributeNames)
    }
    notBeforeAt = session.notBefore?.rfc3339
    expiresAt = session.expiresAt?.rfc3339
  }
}

extension PassMethods.GetSession.Result {
  package init(_ status: PassSessionStatus) {
    self.init(code: status.code, missingParameters: status.missingParameters)
    serviceProvider = status.serviceProvider
    mvpd = status.mvpd
    domainName = status.domainName
    redirectUrl = status.redirectURL
    authenticateUrl = status.authenticateURL
    notBeforeAt = status.notBefore?.rfc3339
    expiresAt = status.expiresAt?.rfc3339
    guard let shown = status.device else { return }
    var device = PassMethods.GetSession.ShownDevice()
    device.type = shown.type
    device.model = shown.model
    device.applicationId = shown.applicationID
    self.device = device
  }
}

extension PassProfileMethods.ListProfiles.Result {
  package init(_ profiles: PassProfiles) {
    self.init(state: profiles.state, profiles: profiles.profiles.map { .init($0) })
    selected = profiles.selected
    remembered = profiles.remembered.map {
      var shown = PassProfileMethods.ListProfiles.Remembered(id: $0.id)
      shown.displayName = $0.displayName
      shown.logoUrl = $0.logoURL
      return shown
    }
    nextPollMs = profiles.nextPoll?.wholeMillisecondsUp
    error = profiles.error.map { .init($0) }
  }
}

extension PassProfileMethods.ListProfiles.Profile {
  fileprivate init(_ profile: PassProfile) {
    self.init(
      mvpd: profile.mvpd, type: profile.type, issuer: profile.issuer, expiresAt: profile.expiresAt.rfc3339,
      attributes: .object(profile.attributes))
    notBeforeAt = profile.notBefore?.rfc3339
  }
}

extension PassProfileMethods.Authorize.Result {
  package init(_ decisions: PassDecisions) {
    self.init(mvpd: decisions.mvpd, decisions: decisions.decisions.map { .init($0) })
  }
}

extension PassProfileMethods.Authorize.Decision {
  fileprivate init(_ decision: PassDecision) {
    self.init(id: decision.id, authorized: decision.isAuthorized)
    source = decision.source
    if decision.isAuthorized {
      token = decision.token.map {
        var shown = PassProfileMethods.Authorize.MediaToken(
          serializedToken: $0.serialized.reveal(), expiresAt: $0.expiresAt.rfc3339)
        shown.notBeforeAt = $0.notBefore?.rfc3339
        return shown
      }
    }
    notBeforeAt = decision.notBefore?.rfc3339
    expiresAt = decision.expiresAt?.rfc3339
    error = decision.error.map { .init($0) }
  }
}

extension PassProfileMethods.Logout.Result {
  package init(_ logout: PassLogout) {
    self.init(
      upstream: logout.upstream,
      logouts: logout.logouts.map {
        var step = PassProfileMethods.Logout.Step(
          mvpd: $0.mvpd, actionName: $0.actionName, actionType: $0.actionType)
        step.url = $0.url
        return step
      }, forgotten: logout.forgotten)
    error = logout.error.map { .init($0) }
  }
}
