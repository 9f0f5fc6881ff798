import HTTPMessages
import OAuthClient
import PosternJSON
import PosternSupport
import SessionRecords

/// The codes of logins that are under way: their ends, what Adobe last answered about each, and which one a device's
/// user sees now. In memory only: a code outlives no restart.
///
/// The state is behind a lock. A code belongs to the uid that named it first: beyond the bounds the uid with the most
/// codes loses its oldest.
final class PassCodes: Sendable {
  /// A code at a service provider.
  struct Key: Hashable, Sendable {
    let client: [UInt8]
    let code: String

    init(_ client: AdobePassClient, _ code: String) {
      self.client = client.key.id
      self.code = code
    }

    static func == (left: Key, right: Key) -> Bool {
      left.client == right.client && left.code.hasSameBytes(as: right.code)
    }
  }

  /// A poller of a code: an error can be about its own device and rate.
  struct Poller: Hashable, Sendable {
    let uid: UInt32
    let device: String
    let isSecondScreen: Bool
  }

  /// An answer about a code.
  enum Answer: Sendable {
    case profiles([PassProfile])
    case failed(PassError)

    /// Whether it is about the code. Any other error may be of one caller's device, rate or connection, and is no
    /// answer to another caller.
    var isForAll: Bool {
      guard case .failed(let error) = self else { return true }
      return error.next == .newCode || error.usedUp != nil
    }

    /// About the size in bytes.
    fileprivate var weight: Int {
      guard case .profiles(let profiles) = self else { return 0 }
      return profiles.reduce(0) { $0 + JSONWriter().write(.object($1.attributes)).count + 256 }
    }
  }

  /// The state of a code, as far as it is known.
  struct Entry: Sendable {
    /// The end of its life.
    var end: MonotonicInstant
    /// Whether a later session of its device has another one.
    var isSuperseded = false
    /// The error of a code that Adobe called wrong: it remains wrong.
    var wrong: PassError?
    /// The last answer, whose it is (nil: for all), and the time from which the next may be requested.
    var last: (answer: Answer, of: Poller?, next: MonotonicInstant)?
    /// Ends the waits of calls once the code is superseded.
    var interruptions: [UInt64: @Sendable () -> Void] = [:]

    /// The answer that counts at `now` for `poller`.
    func answer(for poller: Poller, at now: MonotonicInstant) -> (answer: Answer, next: MonotonicInstant)? {
      last.flatMap { $0.next > now && ($0.of == nil || $0.of == poller) ? ($0.answer, $0.next) : nil }
    }
  }

  private struct Device: Hashable, Sendable {
    let client: [UInt8]
    let identifier: String
  }

  private struct State: Sendable {
    var entries = FairCache<UInt32, Key, Entry>(capacity: PassCodes.capacity, maxWeight: PassCodes.maxBytes)
    var running = FairCache<UInt32, Device, Key>(capacity: PassCodes.capacity)
    var lastWait: UInt64 = 0
  }

  private static let capacity = 16_384
  /// The largest size of all answers.
  private static let maxBytes = 32 << 20
  /// The life of a code whose end Adobe has not given.
  static let usualLife = Duration.seconds(1800)

  private let clock: any EngineClock
  private let state = Locked(State())
  /// The requests about codes, each for all calls that wait for its answer; none without such a call.
  let polls: SingleFlight<Key, Answer, PassError>

  init(clock: any EngineClock) {
    self.clock = clock
    polls = SingleFlight(clock: clock, cancelsAbandonedRuns: true) { PassError(endOf: $0) }
  }

  /// Notes the code of a new session of `device`, with its life from now on. The device's former code is superseded.
  func begin(_ key: Key, life: Duration, of device: AdobePassDevice, for uid: UInt32) {
    let interruptions = state.withLock { state in
      let device = Device(client: key.client, identifier: device.identifier)
      var interruptions: [@Sendable () -> Void] = []
      if let former = state.running[device], former != key {
        _ = state.entries.change(former) { entry in
          entry.isSuperseded = true
          interruptions = Array(entry.interruptions.values)
        }
      }
      state.running.set(key, for: device, of: uid)
      var entry = Entry(end: clock.monotonicNow + life)
      entry.interruptions = state.entries[key]?.interruptions ?? [:]
      state.entries.set(entry, for: key, of: uid)
      return interruptions
    }
    for interrupt in interruptions { interrupt() }
  }

  /// Returns what is known of a code; one that is not known lives from now on, as one of another device or of the time
  /// before a restart.
  func entry(_ key: Key, for uid: UInt32) -> Entry {
    state.withLock { state in
      if let entry = state.entries[key] { return entry }
      let entry = Entry(end: clock.monotonicNow + Self.usualLife)
      state.entries.set(entry, for: key, of: uid)
      return entry
    }
  }

  /// Notes the life of a code, from now on.
  func setLife(_ life: Duration, of key: Key) {
    state.withLock { _ = $0.entries.change(key) { $0.end = clock.monotonicNow + life } }
  }

  /// Notes an answer about a code, which counts for `interval`, and one that the server is busy for as long as that is
  /// where no rate limiter has the pause: that delays only the users and addresses which were rejected.
  /// The answer of a request that no call waits for any more is not known, but its time is.
  func note(_ answer: Answer, about key: Key, after interval: Duration, isLimited: Bool, of poller: Poller) {
    guard case .failed(let error) = answer else { return note(answer, about: key, for: interval, of: poller) }
    guard error.kind == .cancelled else {
      let pause = isLimited ? nil : error.retryAfter
      return note(answer, about: key, for: max(interval, pause ?? .zero), of: poller)
    }
    guard error.outcome != .notSent else { return }
    let lost = PassError.unreachable("no call waited for the answer of Adobe Pass", outcome: .sentNoReply)
    note(.failed(lost), about: key, for: interval, of: poller)
  }

  /// Notes an answer about a code, and how long it counts.
  func note(_ answer: Answer, about key: Key, for duration: Duration, of poller: Poller) {
    _ = entry(key, for: poller.uid)
    let weight = answer.weight
    state.withLock { state in
      _ = state.entries.change(key) { entry in
        entry.last = (answer, answer.isForAll ? nil : poller, clock.monotonicNow + duration)
        if case .failed(let error) = answer, error.next == .newCode { entry.wrong = error }
      }
      state.entries.setWeight(weight, of: key)
    }
  }

  /// Sleeps for `duration`, or until the code is superseded. Throws when the calling task is cancelled.
  func sleep(for duration: Duration, about key: Key, in scope: CallScope) async throws(PassError) {
    await whileCurrent(key, in: scope) { [clock] in try? await clock.sleep(for: duration) }
    if Task.isCancelled { throw .ended(.cancelled) }
  }

  /// Runs `operation`, which is cancelled once the code is superseded.
  func whileCurrent<Value: Sendable>(
    _ key: Key, in scope: CallScope, _ operation: @escaping @Sendable () async -> Value
  ) async -> Value {
    let task = scope.task { await operation() }
    let (number, isOver) = state.withLock { state in
      state.lastWait += 1
      let number = state.lastWait
      let isOver = state.entries.change(key) { entry in
        if !entry.isSuperseded { entry.interruptions[number] = { task.cancel() } }
        return entry.isSuperseded
      }
      return (number, isOver ?? false)
    }
    if isOver { task.cancel() }
    let value = await withTaskCancellationHandler {
      await task.value
    } onCancel: {
      task.cancel()
    }
    state.withLock { _ = $0.entries.change(key) { $0.interruptions[number] = nil } }
    return value
  }
}

/// The configurations of service providers that were read a moment ago.
final class PassConfigurations: Sendable {
  /// A service provider's configuration for one kind of device.
  struct Key: Hashable, Sendable {
    let client: [UInt8]
    let information: String

    init(_ client: AdobePassClient, _ device: AdobePassDevice) {
      self.client = client.key.id
      information = device.information
    }
  }

  /// The request of a uid for a configuration.
  struct Flight: Hashable, Sendable {
    let key: Key
    let uid: UInt32
  }

  /// How long a configuration counts.
  static let life = Duration.seconds(120)
  private static let capacity = 256
  private static let maxBytes = 64 << 20

  private struct Cached: Sendable {
    let configuration: PassConfiguration
    let end: MonotonicInstant
  }

  private let clock: any EngineClock
  private let cached = Locked(FairCache<UInt32, Key, Cached>(capacity: capacity, maxWeight: maxBytes))
  /// The requests under way, each for all calls of a uid that wait for it: one uid's rate limit delays no other.
  let requests: SingleFlight<Flight, PassConfiguration, PassError>

  init(clock: any EngineClock) {
    self.clock = clock
    requests = SingleFlight(clock: clock, cancelsAbandonedRuns: true) { PassError(endOf: $0) }
  }

  /// Returns the configuration that counts now.
  subscript(key: Key) -> PassConfiguration? {
    cached.withLock { $0[key] }.flatMap { $0.end > clock.monotonicNow ? $0.configuration : nil }
  }

  /// Keeps `configuration`, which came in so many bytes. An MVPD needs more than the shortest text that names it.
  func set(_ configuration: PassConfiguration, for key: Key, of uid: UInt32, bytes: Int) {
    let entry = Cached(configuration: configuration, end: clock.monotonicNow + Self.life)
    let items = configuration.mvpds.count + configuration.domains.count
    let weight = bytes + items * MemoryLayout<PassMVPD>.stride + key.information.utf8.count
    cached.withLock { $0.set(entry, for: key, of: uid, weight: weight) }
  }

  /// Drops all of `client`: one of its MVPDs is no longer there.
  func drop(_ client: AdobePassClient) { cached.withLock { $0.removeAll { key, _ in key.client == client.key.id } } }
}
