import Entitlements
import HTTPMessages
import OAuthClient
import PosternSupport
import SessionRecords

/// One call: the provider, the HTTP client, the bounds, and what all calls do with errors and with the device's login.
struct PassCall: Sendable {
  /// How long a call may last where its caller does not bound it.
  static let patience = Duration.seconds(30)
  /// The longest id of an MVPD in bytes.
  static let maxIdentifierBytes = 128
  /// The longest code in bytes.
  static let maxCodeBytes = 64

  let provider: AdobePassProvider
  let link: DecisionClient
  /// The bound that the caller gave.
  private let deadline: Deadline

  /// The calls to the provider of `point` for the caller; nil where it is of another kind.
  init?(
    at point: DecisionPoint, over preauthorizer: Preauthorizer, in scope: CallScope
  ) {
    guard let provider = point.provider as? AdobePassProvider else { return nil }
    self.provider = provider
    deadline = scope.deadline
    let subject = DecisionSubject(id: "", uid: scope.uid)
    var link = preauthorizer.client(of: point, for: subject, in: scope)
    link.scope = scope.until(Deadline(in: Self.patience, on: link.clock))
    self.link = link
  }

  private init(_ provider: AdobePassProvider, _ link: DecisionClient, _ deadline: Deadline) {
    self.provider = provider
    self.link = link
    self.deadline = deadline
  }

  /// The same with `wait` more time.
  func lasting(for wait: Duration) -> PassCall {
    var link = link
    link.scope = link.scope.unbounded.until(deadline).until(Deadline(in: Self.patience + wait, on: link.clock))
    return PassCall(provider, link, deadline)
  }

  /// The same for a request whose answer other calls wait for, too: with a time of its own.
  var shared: PassCall {
    PassCall(provider, link.forSharedRequest(timeout: Self.patience, in: link.scope), .never)
  }

  var state: AdobePassState { provider.state }
  var clock: any EngineClock { link.clock }

  /// The requests of a call to `endpoint`; throws where it does not take the options.
  func exchange(_ options: PassOptions, for endpoint: PassEndpoint) throws(PassError) -> PassExchange {
    try valid { () throws(PassParameterError) in try options.check(for: endpoint, at: clock.wallNow) }
    return PassExchange(
      provider: provider, link: link, options: options, device: provider.settings.device.replaced(by: options.device))
  }

  func valid<Value>(_ check: () throws(PassParameterError) -> Value) throws(PassError) -> Value {
    do throws(PassParameterError) {
      return try check()
    } catch {
      throw PassError(error)
    }
  }

  /// Reads or writes the store; `outcome` is how far the request to Adobe Pass is by then.
  func stored<Value>(
    _ outcome: TransportError.Outcome = .notSent, _ access: () async throws(StoreError) -> Value
  ) async throws(PassError) -> Value {
    do throws(StoreError) {
      return try await access()
    } catch {
      throw PassError(error, outcome: outcome)
    }
  }

  /// Sends `request`, which is about `mvpd` where it is about one, and notes what an error means for what is kept.
  func answer(
    _ request: PassRequest, _ exchange: PassExchange, mvpd: String? = nil
  ) async throws(PassError) -> PassAnswer {
    do throws(PassError) {
      return try await exchange.answer(request)
    } catch {
      await note(error, mvpd, exchange)
      throw ended(error)
    }
  }

  /// Returns the error of a call that fails with `error`: the passing of the caller's deadline where that has passed.
  func ended(_ error: PassError) -> PassError {
    error.kind == .cancelled || !hasTimedOut ? error : .ended(.deadlineExceeded, outcome: error.outcome)
  }

  /// Whether the caller's deadline has passed.
  var hasTimedOut: Bool { deadline.hasPassed(on: clock) }

  /// Notes what an error means for what is kept.
  func note(_ error: PassError, _ mvpd: String?, _ exchange: PassExchange) async {
    guard let status = error.status, !status.isLocal else { return }
    await note(status, mvpd, exchange)
  }

  func note(_ status: Status, _ mvpd: String?, _ exchange: PassExchange) async {
    switch status.code {
    case "invalid_integration":
      state.configurations.drop(provider.client)
      guard let mvpd, !exchange.options.isSecondScreen else { return }
      _ = try? await state.logins.forget(mvpd, provider.client, exchange.device, over: link)
    case "invalid_parameter_mvpd": state.configurations.drop(provider.client)
    default:
      // Another screen's answer is not about the login of this device.
      guard let mvpd, !exchange.options.isSecondScreen else { return }
      await provider.noteEnd(status, of: mvpd, exchange.device, over: link)
    }
  }

  /// Returns the login of `device` as it is remembered.
  func login(
    of device: AdobePassDevice, _ outcome: TransportError.Outcome = .notSent
  ) async throws(PassError) -> PassLogin? {
    try await stored(outcome) { () async throws(StoreError) in
      try await state.logins.login(of: provider.client, device, over: link)
    }
  }

  /// Stores the MVPD of a login, with the name and the logo that the configuration gives, as far as it is in memory.
  func keep(
    _ mvpd: String, _ profile: PassProfile?, _ exchange: PassExchange
  ) async throws(PassError) -> PassLogin? {
    let named = state.configurations[.init(provider.client, exchange.device)]?.mvpds.first { $0.id == mvpd }
    return try await stored(.replied) { () async throws(StoreError) in
      try await state.logins.keep(mvpd, profile, named: named, provider.client, exchange.device, over: link)
    }
  }
}
