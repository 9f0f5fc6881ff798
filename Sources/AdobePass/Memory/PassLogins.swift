import Entitlements
import OAuthClient
import PosternCrypto
import PosternSupport
import SessionRecords

/// The login of a device: the MVPD that its user chose, which is remembered beyond the login, and the login's profile
/// without the user's attributes.
struct PassLogin: RecordContents {
  static let currentFormat = 1

  /// The profile.
  struct Profile: Codable, Sendable {
    let type: String
    let issuer: String
    /// Start and end of its life by Adobe's clock, in milliseconds since the epoch.
    let notBefore: Int64?
    let notAfter: Int64
    /// The end by the clock of this machine.
    let endsAt: Int64

    /// Whether both are the same but for the inaccuracy with which servers give their time, or there is neither.
    static func areSame(_ first: Profile?, _ second: Profile?) -> Bool {
      guard let first, let second else { return first == nil && second == nil }
      return first.notAfter == second.notAfter && first.type == second.type
        && (-5000...5000).contains(first.endsAt - second.endsAt)
    }

    /// Whether it is over at `now`.
    func hasEnded(at now: Timestamp) -> Bool { Timestamp(millisecondsSinceEpoch: endsAt) <= now }
  }

  var format = Self.currentFormat
  /// The client whose login it is: another registration has none of its logins.
  let clientID: String
  let mvpd: String
  var displayName: String?
  var logoURL: String?
  /// Nil where the user is not logged in, as far as is known.
  var profile: Profile?
  /// Another one after each change that ends decisions, in whatever process.
  var mark: UInt64

  var remembered: PassProfiles.Remembered {
    PassProfiles.Remembered(id: mvpd, displayName: displayName, logoURL: logoURL)
  }
}

/// The logins of devices, in the store: once for all processes that share it.
final class PassLogins: Sendable {
  private struct Device: Hashable, Sendable {
    let id: [UInt8]
  }

  /// The number of devices whose changes are marked in memory.
  private static let capacity = 16_384
  /// The largest share of the store that the logins of one uid's devices take.
  private static let allowance = RecordAllowance(count: 20_000, bytes: 64 << 20)
  /// How long a record outlives its last change: a device that is gone needs no MVPD.
  private static let life = Duration.seconds(400 * 86_400)
  /// How often a change is tried that another process gets ahead of.
  private static let attempts = 4

  private let clock: any EngineClock
  private let clients: AdobePassClients
  private let marks = Locked(FairCache<UInt32, Device, UInt64>(capacity: capacity))

  init(clock: any EngineClock, clients: AdobePassClients) {
    self.clock = clock
    self.clients = clients
  }

  /// Returns the login of `device`; nil where nothing is remembered.
  func login(
    of client: AdobePassClient, _ device: AdobePassDevice, over link: DecisionClient
  ) async throws(StoreError) -> PassLogin? {
    try await stored(client, device, over: link).flatMap { $0.login }
  }

  /// Returns a text that changes whenever decisions for the device end.
  func marks(of client: AdobePassClient, _ device: AdobePassDevice, _ login: PassLogin?) -> String {
    let mark = marks.withLock { $0[Device(id: Self.key(client, device).id)] } ?? 0
    return "\(mark)/\(login?.mark ?? 0)/\(login?.profile?.notAfter ?? 0)"
  }

  /// Stores the MVPD of a login, and its profile where that is known.
  func keep(
    _ mvpd: String, _ profile: PassProfile?, named: PassMVPD?, _ client: AdobePassClient, _ device: AdobePassDevice,
    over link: DecisionClient
  ) async throws(StoreError) -> PassLogin? {
    guard let clientID = try await clients.clientID(of: client, in: link.records, by: link.scope.uid) else {
      return nil
    }
    let kept = profile.map {
      PassLogin.Profile(
        type: $0.type, issuer: $0.issuer, notBefore: $0.notBefore?.millisecondsSinceEpoch,
        notAfter: $0.expiresAt.millisecondsSinceEpoch, endsAt: $0.endsAt.millisecondsSinceEpoch)
    }
    return try await change(client, device, over: link) { login in
      let same = login.flatMap { $0.mvpd.hasSameBytes(as: mvpd) && $0.clientID == clientID ? $0 : nil }
      // A profile that has ended is not that of a login which Adobe has just confirmed.
      let profile = kept ?? same?.profile.flatMap { $0.hasEnded(at: clock.wallNow) ? nil : $0 }
      if let same, PassLogin.Profile.areSame(profile, same.profile),
        named == nil || same.displayName == named?.displayName && same.logoURL == named?.logoURL
      {
        return same
      }
      return PassLogin(
        clientID: clientID, mvpd: mvpd, displayName: named?.displayName ?? same?.displayName,
        logoURL: named?.logoURL ?? same?.logoURL, profile: profile, mark: Self.newMark())
    }
  }

  /// Drops the profile of `mvpd`, nil for that of any, and with it the decisions; the MVPD remains. A failure
  /// of the store changes nothing of that for this process.
  func dropProfile(
    of mvpd: String?, _ client: AdobePassClient, _ device: AdobePassDevice, over link: DecisionClient
  ) async {
    endDecisions(client, device, over: link)
    _ = try? await change(client, device, over: link) { login in
      guard var changed = login, changed.profile != nil, mvpd.map({ changed.mvpd.hasSameBytes(as: $0) }) ?? true else {
        return login
      }
      changed.profile = nil
      changed.mark = Self.newMark()
      return changed
    }
  }

  /// Forgets the login of `mvpd` with all that is remembered; returns the MVPD where it was remembered.
  func forget(
    _ mvpd: String, _ client: AdobePassClient, _ device: AdobePassDevice, over link: DecisionClient
  ) async throws(StoreError) -> String? {
    endDecisions(client, device, over: link)
    var forgotten: String?
    _ = try await change(client, device, over: link) { login in
      guard let login, login.mvpd.hasSameBytes(as: mvpd) else { return login }
      forgotten = login.mvpd
      return nil
    }
    return forgotten
  }

  /// Ends the decisions that were made for the device.
  func endDecisions(_ client: AdobePassClient, _ device: AdobePassDevice, over link: DecisionClient) {
    marks.withLock { $0.set(Self.newMark(), for: Device(id: Self.key(client, device).id), of: link.subject.uid) }
  }

  private struct Stored {
    let record: StoredRecord
    let login: PassLogin?
  }

  private func stored(
    _ client: AdobePassClient, _ device: AdobePassDevice, over link: DecisionClient
  ) async throws(StoreError) -> Stored? {
    guard let record = try await link.records.record(for: Self.key(client, device), by: link.scope.uid) else {
      return nil
    }
    let login = PassLogin.read(record)
    guard let login, login.format == PassLogin.currentFormat else { return Stored(record: record, login: nil) }
    // A login of a client that was replaced is gone.
    let current = try await clients.clientID(of: client, in: link.records, by: link.scope.uid)
    return Stored(record: record, login: current?.hasSameBytes(as: login.clientID) == true ? login : nil)
  }

  /// Applies `body`, which returns nil for a login to remove, and is called again where another process was first.
  private func change(
    _ client: AdobePassClient, _ device: AdobePassDevice, over link: DecisionClient,
    _ body: (PassLogin?) -> PassLogin?
  ) async throws(StoreError) -> PassLogin? {
    var attempt = 1
    while true {
      do throws(StoreError) {
        return try await write(body, client, device, over: link)
      } catch {
        guard error.kind == .conflict, attempt < Self.attempts else { throw error }
        attempt += 1
      }
    }
  }

  private func write(
    _ body: (PassLogin?) -> PassLogin?, _ client: AdobePassClient, _ device: AdobePassDevice, over link: DecisionClient
  ) async throws(StoreError) -> PassLogin? {
    let store = link.records
    let key = Self.key(client, device)
    let stored = try await stored(client, device, over: link)
    let changed = body(stored?.login)
    guard let changed else {
      if stored != nil { _ = try await store.remove(key, by: link.scope.uid) }
      return nil
    }
    if let login = stored?.login, login.mark == changed.mark { return changed }
    guard let contents = changed.bytes else { throw StoreError(.invalid, "a login cannot be written down") }
    let uid = link.subject.uid
    // A record remains that of the uid whose call made it: to remove it first could lose it. The allowance of that uid
    // is no limit for the calls of others.
    let recordUID = stored?.record.uid ?? uid
    let record = StoredRecord(
      key: key, uid: recordUID, version: (stored?.record.version ?? 0) + 1, expiresAt: clock.wallNow + Self.life,
      contents: contents)
    if stored == nil {
      try await store.insert(record, within: Self.allowance)
    } else {
      try await store.replace(record, under: nil, within: recordUID == uid ? Self.allowance : .unlimited)
    }
    return changed
  }

  private static func key(_ client: AdobePassClient, _ device: AdobePassDevice) -> RecordKey {
    let parts = [Base64URL.string(client.key.id), device.identifier]
    return RecordKey(collection: .registration, id: HashFunction.sha256.hash("adobe-pass-login", of: parts))
  }

  private static func newMark() -> UInt64 { NonSecretRandom.shared.next() >> 1 }
}
