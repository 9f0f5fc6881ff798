public import Entitlements
import HTTPMessages
public import OAuthClient
import PosternJSON
public import PosternSupport
import SessionRecords

/// The calls to Adobe Pass for one service provider, in the name of one uid, by one deadline.
///
/// The sidecar is the only holder of client credentials, access token and device id; screen, browser and player are the
/// caller's: no call opens a URL, and nothing polls that no call waits for. One client is for one call, whose time runs
/// from its creation.
public struct PassClient: Sendable {
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

  /// The calls to the provider of `point` for `uid`; nil where it is of another kind.
  public init?(
    at point: DecisionPoint, over preauthorizer: Preauthorizer, uid: UInt32, deadline: Deadline = .never,
    trace: TraceContext? = nil
  ) {
    guard let provider = point.provider as? AdobePassProvider else { return nil }
    self.provider = provider
    self.deadline = deadline
    let subject = DecisionSubject(id: "", uid: uid)
    var link = preauthorizer.client(of: point, for: subject, deadline: deadline, trace: trace)
    link.deadline = deadline.earlier(Deadline(in: Self.patience, on: link.clock))
    self.link = link
  }

  private init(_ provider: AdobePassProvider, _ link: DecisionClient, _ deadline: Deadline) {
    self.provider = provider
    self.link = link
    self.deadline = deadline
  }

  /// The same with `wait` more time.
  func lasting(for wait: Duration) -> PassClient {
    var link = link
    link.deadline = deadline.earlier(Deadline(in: Self.patience + wait, on: link.clock))
    return PassClient(provider, link, deadline)
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

  func stored<Value>(_ access: () async throws(StoreError) -> Value) async throws(PassError) -> Value {
    do throws(StoreError) {
      return try await access()
    } catch {
      throw PassError(error)
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
}

extension PassClient {
  /// Returns the configuration of the service provider: the MVPDs among which a user chooses. It is kept in memory for
  /// two minutes.
  public func configuration(
    includingTempPass: Bool = false, options: PassOptions = PassOptions()
  ) async throws(PassError) -> PassConfiguration {
    let exchange = try exchange(options, for: .configuration)
    let key = PassConfigurations.Key(provider.client, exchange.device)
    var configuration: PassConfiguration
    if let cached = state.configurations[key] {
      configuration = cached
      configuration.isCached = true
    } else {
      let client = PassClient(provider, link.forSharedRequest(timeout: Self.patience), .never)
      let flight = PassConfigurations.Flight(key: key, uid: link.subject.uid)
      do throws(PassError) {
        configuration = try await state.configurations.requests.value(for: flight, deadline: link.deadline) {
          () async throws(PassError) in
          if let cached = client.state.configurations[key] { return cached }
          return try await client.requestedConfiguration(options, key)
        }
      } catch {
        throw ended(error)
      }
    }
    return includingTempPass ? configuration : configuration.withoutTempPass
  }

  private func requestedConfiguration(
    _ options: PassOptions, _ key: PassConfigurations.Key
  ) async throws(PassError) -> PassConfiguration {
    let exchange = try exchange(options, for: .configuration)
    let request = PassRequest(endpoint: .configuration, method: "GET", segments: ["configuration"])
    let answer = try await exchange.answer(request, isShared: true)
    let configuration = try PassConfiguration(
      answer.document, serviceProvider: provider.settings.serviceProvider,
      expiresAt: clock.wallNow + PassConfigurations.life)
    state.configurations.set(configuration, for: key, of: link.subject.uid, bytes: answer.bytes)
    return configuration
  }
}

extension PassConfiguration {
  /// Reads the answer; `mvpds` is inside of `requestor`, or next to it.
  init(_ document: JSONValue, serviceProvider: String, expiresAt: Timestamp) throws(PassError) {
    let answer = try PassReading(document, "configuration")
    guard let requestor = try answer.object("requestor") else { throw .format("the configuration has no requestor") }
    self.serviceProvider = try requestor.identifier("id") ?? serviceProvider
    displayName = try requestor.text("name")
    var domains: [Domain] = []
    for value in try requestor.list("domains") {
      let domain = try PassReading(value, "domain")
      guard let name = try domain.identifier("name") else { throw .format("a domain has no name") }
      domains.append(Domain(name: name, isMVPDInitiated: try domain.flag("mvpdInitiated")))
    }
    self.domains = domains
    var mvpds: [PassMVPD] = []
    for value in try requestor["mvpds"] == nil ? answer.list("mvpds") : requestor.list("mvpds") {
      mvpds.append(try PassMVPD(PassReading(value, "mvpd")))
    }
    self.mvpds = mvpds
    isCached = false
    self.expiresAt = expiresAt
  }
}

extension PassMVPD {
  fileprivate init(_ reading: PassReading) throws(PassError) {
    guard let id = try reading.identifier("id") else { throw .format("an MVPD has no id") }
    var flags: Set<Flag> = []
    for flag in Flag.allCases where try reading.flag(flag.rawValue) { flags.insert(flag) }
    self.init(
      id: id, displayName: try reading.text("displayName"), logoURL: try reading.text("logoUrl"),
      boardingStatus: try reading.text("boardingStatus"), platformMappingID: try reading.text("platformMappingId"),
      flags: flags)
  }
}

extension PassClient: ConciseStringConvertible {
  /// The provider.
  public var description: String { "client of \(provider)" }
}
