public import Entitlements
public import OAuthClient
public import PosternSupport

/// The calls to Adobe Pass for one service provider, in the name of one uid, by one deadline.
///
/// The sidecar is the only holder of client credentials, access token and device id; screen, browser and player are the
/// caller's: no call opens a URL, and nothing polls that no call waits for. One client is for one call, whose time runs
/// from its creation.
public struct PassClient: Sendable {
  let call: PassCall

  /// The calls to the provider of `point` in that scope; nil where it is of another kind.
  public init?(
    at point: DecisionPoint, over preauthorizer: Preauthorizer, in scope: CallScope = CallScope()
  ) {
    guard let call = PassCall(at: point, over: preauthorizer, in: scope) else {
      return nil
    }
    self.call = call
  }

  /// Returns the configuration of the service provider: the MVPDs among which a user chooses. It is kept in memory for
  /// two minutes.
  public func configuration(
    includingTempPass: Bool = false, options: PassOptions = PassOptions()
  ) async throws(PassError) -> PassConfiguration {
    let configuration = try await PassConfigurationCall(call: call).configuration(options)
    return includingTempPass ? configuration : configuration.withoutTempPass
  }

  /// Starts a login: with the status of a partner's framework one by the partner, else one by a browser, on this screen
  /// or by the code on another one. A former code of the device is over.
  public func createSession(
    _ parameters: PassLoginParameters = PassLoginParameters(), options: PassOptions = PassOptions()
  ) async throws(PassError) -> PassSession {
    try await PassSessionCall(call: call).create(parameters, options)
  }

  /// Completes a login that another screen started, or one that lacked parameters.
  public func resumeSession(
    code: String, _ parameters: PassLoginParameters = PassLoginParameters(), options: PassOptions = PassOptions()
  ) async throws(PassError) -> PassSession {
    try await PassSessionCall(call: call).resume(code, parameters, options)
  }

  /// Returns what is known of the login with `code`, and what is missing: before another screen goes on with it.
  public func session(
    code: String, options: PassOptions = PassOptions()
  ) async throws(PassError) -> PassSessionStatus {
    try await PassSessionCall(call: call).status(of: code, options)
  }

  /// The longest wait for a login.
  public static let maxWait = Duration.seconds(1800)

  /// Returns the logins of the device. With the SAML response of a partner's framework it makes a login of that first.
  public func profiles(
    _ selection: PassProfileSelection = .remembered, options: PassOptions = PassOptions()
  ) async throws(PassError) -> PassProfiles {
    try await PassProfileCall(call: call).profiles(selection, options)
  }

  /// The most resources of one call.
  public static let maxResources = 16

  /// Decides about playing `resources` at `mvpd`; nil: at the remembered one, else the configured one. Each permit has
  /// a media token; none is kept. Every call sends a request, whatever came before.
  public func authorize(
    _ resources: [String], mvpd: String? = nil, options: PassOptions = PassOptions()
  ) async throws(PassError) -> PassDecisions {
    try await PassDecisionCall(call: call).authorize(resources, mvpd, options)
  }

  /// Ends the login at `mvpd`, at the remembered or configured one where it is nil: first here, then at Adobe.
  public func logout(
    mvpd: String? = nil, redirectURL: String? = nil, options: PassOptions = PassOptions()
  ) async throws(PassError) -> PassLogout {
    try await PassLogoutCall(call: call).logout(mvpd, redirectURL, options)
  }
}

extension PassClient: ConciseStringConvertible {
  /// The provider.
  public var description: String { "client of \(call.provider)" }
}
