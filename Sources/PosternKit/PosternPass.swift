public import AuthEngine
import PosternConfiguration
public import PosternSupport

/// The logins of devices at television providers, through Adobe Pass: the calls of a configured service provider.
///
/// Each call is by the configuration that is in force when it starts.
///
/// `timeout` bounds a call: after it the error is `PassError.Kind.deadlineExceeded`. Without it a call lasts 30 seconds
/// at most, and one that waits for a login that long in addition to its wait.
public struct PosternPass: Sendable {
  /// The provider's name in the configuration (`preauthorization.NAME`).
  public let name: String
  let running: RunningEngine

  /// The MVPDs among which a user chooses; kept in memory for two minutes.
  public func configuration(
    includingTempPass: Bool = false, options: PassOptions = PassOptions(), timeout: Duration? = nil
  ) async throws(PassError) -> PassConfiguration {
    try await client(timeout).configuration(includingTempPass: includingTempPass, options: options)
  }

  /// Starts a login: in a browser on this screen, by its code on another one, or with a partner's framework. A former
  /// code of the device is over.
  public func createSession(
    _ parameters: PassLoginParameters = PassLoginParameters(), options: PassOptions = PassOptions(),
    timeout: Duration? = nil
  ) async throws(PassError) -> PassSession {
    try await client(timeout).createSession(parameters, options: options)
  }

  /// Completes a login that another screen started, or one that lacked parameters.
  public func resumeSession(
    code: String, _ parameters: PassLoginParameters = PassLoginParameters(), options: PassOptions = PassOptions(),
    timeout: Duration? = nil
  ) async throws(PassError) -> PassSession {
    try await client(timeout).resumeSession(code: code, parameters, options: options)
  }

  /// The login with `code` as it is: what another screen shows before it continues.
  public func session(
    code: String, options: PassOptions = PassOptions(), timeout: Duration? = nil
  ) async throws(PassError) -> PassSessionStatus {
    try await client(timeout).session(code: code, options: options)
  }

  /// The logins of the device. `.code(code, wait: duration)` waits for the login of a code; with the SAML response of a
  /// partner's framework the call makes a login of it first.
  public func profiles(
    _ selection: PassProfileSelection = .remembered, options: PassOptions = PassOptions(), timeout: Duration? = nil
  ) async throws(PassError) -> PassProfiles {
    try await client(timeout).profiles(selection, options: options)
  }

  /// Decides about playing `resources`, 16 at most. Each permit has a media token, which is for one playback. Every
  /// call sends a request; `Postern.preauthorize` is the one with a cache.
  ///
  /// - Parameters:
  ///   - resources: The resources: ids, or MRSS fragments.
  ///   - mvpd: The MVPD; nil: that of the device's login, else the configured one.
  ///   - options: The device, and what proves who uses it.
  ///   - timeout: The longest time that the call may last.
  public func authorize(
    _ resources: [String], mvpd: String? = nil, options: PassOptions = PassOptions(), timeout: Duration? = nil
  ) async throws(PassError) -> PassDecisions {
    try await client(timeout).authorize(resources, mvpd: mvpd, options: options)
  }

  /// Ends the device's login: here first, whatever the network does, then at Adobe Pass.
  ///
  /// - Parameters:
  ///   - mvpd: The MVPD; nil: that of the device's login, else the configured one.
  ///   - redirectURL: Where the browser comes back to from the MVPD's logout; one of the configured `redirectUrls`.
  ///   - options: The device, and what proves who uses it.
  ///   - timeout: The longest time that the call may last.
  @discardableResult
  public func logout(
    mvpd: String? = nil, redirectURL: String? = nil, options: PassOptions = PassOptions(), timeout: Duration? = nil
  ) async throws(PassError) -> PassLogout {
    try await client(timeout).logout(mvpd: mvpd, redirectURL: redirectURL, options: options)
  }

  init(_ name: String?, _ running: RunningEngine) throws(PassError) {
    let names = running.passProviders
    guard let name = name ?? (names.count == 1 ? names.first : nil) else {
      throw PassError(
        PassParameterError(
          ["provider"],
          names.isEmpty
            ? "no decision point is configured with kind: adobe-pass" : "several are of kind adobe-pass: name one"))
    }
    guard names.contains(name) else { throw PassError(Self.unknown(name, among: names)) }
    self.name = name
    self.running = running
  }

  private func client(_ timeout: Duration?) throws(PassError) -> PassClient {
    let engine = running.engine
    let deadline = timeout.map { Deadline(in: $0, on: engine.clock) } ?? .never
    guard
      let point = running.values.decisionPoints[name],
      let client = PassClient(at: point, over: engine.preauthorizer, in: running.scope.until(deadline))
    else { throw PassError(Self.unknown(name, among: running.passProviders)) }
    return client
  }

  private static func unknown(_ name: String, among names: [String]) -> PassParameterError {
    PassParameterError(
      ["provider"],
      Suggestion.appended(
        to: "no decision point of that name is configured with kind: adobe-pass", for: name, among: names))
  }
}

extension RunningEngine {
  /// The names of the decision points that are Adobe Pass providers.
  fileprivate var passProviders: [String] {
    values.decisionPoints.filter { $0.value.provider is AdobePassProvider }.keys.sorted()
  }
}

extension PosternPass: ConciseStringConvertible {
  /// The provider's name.
  public var description: String { "provider \(Concise.name(name))" }
}
