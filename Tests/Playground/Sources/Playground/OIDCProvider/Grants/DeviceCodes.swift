import PosternCrypto
import PosternSupport

/// Device codes (RFC 8628): what the user decides by the user code, the device learns by asking again and again.
final class DeviceCodes: Sendable {
  /// A device that waits.
  struct Device: Sendable {
    /// Its client.
    let client: PlaygroundClient
    /// The code that the user types in.
    let userCode: String
    /// The requested scopes.
    let scopes: [String]
    /// The requested resources.
    let resources: [String]
    fileprivate let end: MonotonicInstant
    fileprivate var interval = DeviceCodes.interval
    fileprivate var nextPoll: MonotonicInstant
    fileprivate var state = State.waiting
  }

  /// The user's decision.
  fileprivate enum State: Sendable {
    case waiting, denied, used
    case approved(UserGrant, familyID: String)
  }

  /// How long a code is good.
  static let lifetime = Duration.seconds(600)
  /// How long a device has to wait between two questions, at first.
  static let interval = Duration.seconds(5)
  private static let memory = Duration.seconds(1200)
  /// Section 6.1: letters that make no words and are told apart easily.
  private static let letters = Array("BCDFGHJKLMNPQRSTVWXZ")

  private let devices: ExpiringStore<Device>
  private let families: RefreshFamilies
  private let clock: any EngineClock

  /// No devices yet.
  init(families: RefreshFamilies, clock: any EngineClock) {
    devices = ExpiringStore(clock: clock)
    self.families = families
    self.clock = clock
  }

  /// A new device code with its user code.
  func issue(
    to client: PlaygroundClient, scopes: [String], resources: [String]
  ) throws(OAuthError) -> (deviceCode: String, userCode: String) {
    let letters = (0..<8).map { _ in String(Self.letters.randomElement() ?? "B") }
    let userCode = letters[..<4].joined() + "-" + letters[4...].joined()
    let now = clock.monotonicNow
    let device = Device(
      client: client, userCode: userCode, scopes: scopes, resources: resources, end: now + Self.lifetime, nextPoll: now)
    let deviceCode = RandomText.next()
    guard devices.insert(device, under: deviceCode, for: Self.memory) else { throw .full }
    return (deviceCode, userCode)
  }

  /// The device that waits for `userCode`, however that is typed (section 6.1).
  func waiting(_ userCode: String) -> Device? { key(userCode).flatMap { devices.value($0) } }

  /// Approves the device's request.
  func approve(_ userCode: String, _ session: ProviderSession) throws(OAuthError) {
    guard let key = key(userCode), let device = devices.value(key) else { throw Self.unknown }
    let grant = UserGrant(
      clientID: device.client.id, user: session.user, authentication: session.authentication, scopes: device.scopes,
      resources: device.resources)
    try decide(key, .approved(grant, familyID: try families.open(grant)))
  }

  /// Denies the device's request.
  func deny(_ userCode: String) throws(OAuthError) {
    guard let key = key(userCode) else { throw Self.unknown }
    try decide(key, .denied)
  }

  /// The result of a device code. Polling too early makes the device wait longer from then on (section 3.5).
  func poll(_ deviceCode: String, by client: PlaygroundClient) throws(OAuthError) -> (UserGrant, familyID: String) {
    let now = clock.monotonicNow
    let decision = devices.update(deviceCode) { device -> Result<(UserGrant, familyID: String), OAuthError> in
      guard device.client.id == client.id else { return .failure(Self.unknown) }
      guard now < device.end else { return .failure(OAuthError(.expiredToken, "the device code has expired")) }
      let isEarly = now < device.nextPoll
      if isEarly { device.interval = min(device.interval + .seconds(5), Self.lifetime) }
      device.nextPoll = now + device.interval
      if isEarly { return .failure(OAuthError(.slowDown, "polled too early; wait five seconds longer each time")) }
      switch device.state {
      case .waiting: return .failure(OAuthError(.authorizationPending, "the user has not decided yet"))
      case .denied: return .failure(OAuthError(.accessDenied, "the user did not want to"))
      case .used: return .failure(OAuthError(.invalidGrant, "the device code was used before"))
      case .approved(let grant, let familyID):
        device.state = .used
        return .success((grant, familyID))
      }
    }
    guard let decision else { throw Self.unknown }
    return try decision.get()
  }

  private static let unknown = OAuthError(.invalidGrant, "the code is unknown or another client's")

  private func decide(_ key: String, _ state: State) throws(OAuthError) {
    let isNew = devices.update(key) { device -> Bool in
      guard case .waiting = device.state else { return false }
      device.state = state
      return true
    }
    guard isNew == true else { throw Self.unknown }
  }

  private func key(_ userCode: String) -> String? {
    let typed = userCode.uppercased().filter { $0.isLetter }
    let now = clock.monotonicNow
    return devices.key { device in
      guard case .waiting = device.state else { return false }
      return now < device.end && device.userCode.filter { $0.isLetter } == typed
    }
  }
}
