import AuthEngine
import EngineTestSupport
import HTTPMessages
import PosternJSON
import PosternSupport
import PosternTestSupport

@testable import AdobePass
@testable import Entitlements

/// Samples of the calls to Adobe Pass.
extension PrintedValuesTests {
  static func pass() throws -> Samples {
    let engine = Engine { _, _ in .status(200) }
    let url = try HTTPURL("https://adobe.test/?token=\(secret)")
    let device = AdobePassDevice(identifier: Secret(secret), information: ["model": .string(secret)])
    let settings = AdobePassProvider.Settings(
      baseURL: url, serviceProvider: "P", mvpd: "M", softwareStatement: Secret(secret), device: device)
    let point = DecisionPoint(
      name: foreign, settings: DecisionPoint.Settings(),
      provider: try AdobePassProvider(settings, state: AdobePassState(clock: engine.clock)))
    let preauthorizer = Preauthorizer(engine.services, deviceTokens: engine.tokens)
    var login = settings.login
    login.redirectURLs = [secret]
    let partner = PassPartner(name: foreign, frameworkStatus: ["id": .string(secret)], samlResponse: Secret(secret))
    let platform = PassPlatformToken(.roku, token: Secret(secret))
    let given = PassDevice(id: Secret(secret), information: ["model": secret], address: secret)
    let options = PassOptions(
      device: given, visitorID: Secret(secret), platform: platform, serviceToken: Secret(secret), partner: partner,
      tempPassIdentity: Secret(secret))
    let parameter = PassParameterError(["mvpd"], foreign)
    return [
      "AdobePassLoginSettings": login, "PassClient": PassClient(at: point, over: preauthorizer) as Any? ?? "",
      "PassOptions": options, "PassDevice": given, "PassPlatformToken": platform, "PassPartner": partner,
      "PassLoginParameters": PassLoginParameters(mvpd: foreign, domainName: secret, redirectURL: secret),
      "PassParameterError": parameter, "PassError.Kind": PassError.Kind.invalidParameter(parameter),
      "PassProfileSelection": PassProfileSelection.code(secret, wait: .seconds(1)),
      "ResolvedContext": ResolvedContext(["ip": .string(secret)], key: ["mark": .string(secret)]),
    ]
  }

  static func passResults() -> Samples {
    let (start, end) = (Timestamp(secondsSinceEpoch: 0), Timestamp(secondsSinceEpoch: 1_800_000_000))
    let status = Status(
      status: 403, code: "denied", action: "none", message: foreign, details: secret, helpURL: secret, trace: secret)
    let mvpd = PassMVPD(
      id: foreign, displayName: secret, logoURL: secret, boardingStatus: secret, platformMappingID: secret,
      flags: [.isProxy])
    let domain = PassConfiguration.Domain(name: foreign, isMVPDInitiated: true)
    let request = PassAuthenticationRequest(type: "saml", request: secret, attributeNames: [secret])
    let session = PassSession(
      actionName: "partner_profile", actionType: "direct", reasonType: foreign, serviceProvider: secret,
      sessionID: secret, code: secret, url: secret, mvpd: foreign, missingParameters: [foreign],
      authenticationRequest: request, notBefore: start, expiresAt: end)
    let device = PassSessionStatus.Device(type: "TV", model: foreign, applicationID: secret)
    let profile = PassProfile(
      mvpd: foreign, type: foreign, issuer: secret, notBefore: start, expiresAt: end,
      attributes: ["userID": .string(secret)], endsAt: end)
    let known = PassProfiles.Remembered(id: foreign, displayName: secret, logoURL: secret)
    let token = PassDecision.MediaToken(serialized: Secret(secret), notBefore: start, expiresAt: end)
    let permit = PassDecision(id: foreign, token: token, source: secret, notBefore: nil, expiresAt: end, error: nil)
    let denial = PassDecision(id: foreign, token: nil, source: nil, notBefore: nil, expiresAt: nil, error: status)
    let step = PassLogout.Step(mvpd: foreign, actionName: "logout", actionType: "interactive", url: secret)
    let error = PassError.rejected(status, http: 403)
    return [
      "PassConfiguration": PassConfiguration(
        serviceProvider: foreign, displayName: secret, domains: [domain], mvpds: [mvpd], isCached: true,
        expiresAt: end),
      "PassConfiguration.Domain": domain, "PassMVPD": mvpd, "PassSession": session,
      "PassAuthenticationRequest": request,
      "PassSessionStatus": PassSessionStatus(
        code: secret, serviceProvider: secret, mvpd: foreign, domainName: secret, redirectURL: secret,
        missingParameters: [foreign], authenticateURL: secret, notBefore: start, expiresAt: end, device: device),
      "PassSessionStatus.Device": device, "PassProfile": profile,
      "PassProfiles": PassProfiles(
        state: .temporaryAccessUsedUp, profiles: [profile], selected: secret, remembered: known, nextPoll: .zero,
        error: status),
      "PassProfiles.Remembered": known, "PassDecision": permit, "PassDecision.MediaToken": token,
      "PassDecisions": PassDecisions(mvpd: foreign, decisions: [permit, denial]),
      "PassLogout": PassLogout(upstream: .failed, logouts: [step], forgotten: [secret], error: status),
      "PassLogout.Step": step, "PassError": error,
    ]
  }
}
