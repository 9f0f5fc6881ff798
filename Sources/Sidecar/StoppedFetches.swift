import AuthEngine
import HTTPMessages
import JSON
import Support

/// Fetches that wait for advice to be satisfied, under continuations: the request as it was, so that nothing else can ride on what the
/// user agrees to.
final class StoppedFetches: Sendable {
  /// A fetch as it was asked for.
  struct Origin: Sendable {
    let owner: UInt32
    /// The resource server's name in the configuration.
    let resource: String
    /// Where it was: what was agreed to for one place is not sent to another.
    let baseURL: HTTPURL
    let request: ResourceRequest
    let options: FetchOptions
    let stream: BodyStream?
    let task: String
    let wait: Duration
  }

  /// One that has stopped.
  struct Fetch: Sendable {
    let origin: Origin
    let session: SessionHandle
    let advices: [PolicyAdvice]
    let progress: AdviceProgress
  }

  /// One that was taken, and could be put back.
  struct Taken: Sendable {
    let fetch: Fetch
    fileprivate let name: String
    fileprivate let expiry: MonotonicInstant
  }

  private struct Entry {
    let fetch: Fetch
    let byteCount: Int
    var expiry: MonotonicInstant
  }

  private struct State {
    var entries: [String: Entry] = [:]
    var byteCount = 0

    mutating func remove(_ name: String) -> Entry? {
      guard let entry = entries.removeValue(forKey: name) else { return nil }
      byteCount -= entry.byteCount
      return entry
    }

    mutating func dropExpired(at instant: MonotonicInstant) {
      for (name, entry) in entries where entry.expiry <= instant { _ = remove(name) }
    }

    func hasRoom(for entry: Entry) -> Bool {
      let own = entries.values.filter { $0.fetch.origin.owner == entry.fetch.origin.owner }
      let ownBytes = own.reduce(0) { $0 + $1.byteCount }
      return own.count < mostOfOne && ownBytes + entry.byteCount <= maxBytesOfOne && entries.count < most
        && byteCount + entry.byteCount <= maxBytes
    }
  }

  /// How many one peer may have, and all together.
  static let mostOfOne = 256
  static let most = 2048
  /// How many bytes of requests are kept all together.
  static let maxBytes = 64 << 20
  /// Of these one peer's: nobody takes all the room. The largest request that a message can hold fits in.
  static let maxBytesOfOne = 32 << 20

  /// A delegate has as long to answer as its fetch is kept: that much later it is still there.
  private static let margin = Duration.seconds(5)

  private let clock: any EngineClock
  private let state = Locked(State())

  init(clock: any EngineClock) { self.clock = clock }

  /// Keeps a fetch; nil when there is no room.
  func hold(_ fetch: Fetch) -> String? {
    let name = SessionHandle.random().text
    let now = clock.monotonicNow
    let entry = Entry(fetch: fetch, byteCount: Self.size(of: fetch), expiry: now + fetch.origin.wait)
    return state.withLock { state in
      state.dropExpired(at: now + (.zero - Self.margin))
      if !state.hasRoom(for: entry) { state.dropExpired(at: now) }
      guard state.hasRoom(for: entry) else { return nil }
      state.entries[name] = entry
      state.byteCount += entry.byteCount
      return name
    }
  }

  /// A fetch of `owner`'s, which goes on waiting.
  func fetch(_ name: String, of owner: UInt32) -> Fetch? {
    let now = clock.monotonicNow
    let entry = state.withLock { $0.entries[name] }
    return entry.flatMap { $0.fetch.origin.owner == owner && $0.expiry > now ? $0.fetch : nil }
  }

  /// Takes a fetch of `owner`'s: of several callers one gets it.
  func take(_ name: String, of owner: UInt32) -> Taken? {
    let now = clock.monotonicNow
    return state.withLock { state in
      guard let entry = state.entries[name], entry.fetch.origin.owner == owner else { return nil }
      _ = state.remove(name)
      return entry.expiry > now ? Taken(fetch: entry.fetch, name: name, expiry: entry.expiry) : nil
    }
  }

  /// Puts one back, for as long as it would have waited: nothing has been sent.
  func putBack(_ taken: Taken) {
    let entry = Entry(fetch: taken.fetch, byteCount: Self.size(of: taken.fetch), expiry: taken.expiry)
    state.withLock { state in
      _ = state.remove(taken.name)
      state.entries[taken.name] = entry
      state.byteCount += entry.byteCount
    }
  }

  /// How many wait.
  var count: Int {
    let now = clock.monotonicNow
    return state.withLock { $0.entries.values.count { $0.expiry > now } }
  }

  /// The fetch is over, or goes on by itself.
  func release(_ name: String) { state.withLock { _ = $0.remove(name) } }

  /// Nobody has answered who was asked about it, for all the time that it had: it stops now. False when it is gone.
  func stop(_ name: String, of owner: UInt32) -> Bool { prolong(name, of: owner, within: Self.margin) }

  /// The user has done their part: from here on there is as much time again. False when it is gone.
  func extend(_ name: String, of owner: UInt32) -> Bool { prolong(name, of: owner, within: .zero) }

  private func prolong(_ name: String, of owner: UInt32, within margin: Duration) -> Bool {
    let now = clock.monotonicNow
    return state.withLock { state in
      guard let entry = state.entries[name], entry.fetch.origin.owner == owner, entry.expiry + margin > now else {
        return false
      }
      state.entries[name]?.expiry = now + entry.fetch.origin.wait
      return true
    }
  }

  private static func size(of fetch: Fetch) -> Int {
    let request = fetch.origin.request
    let parts = (request.multipart ?? []).reduce(0) { $0 + $1.data.count + 1024 }
    let fields = request.headers.lines.reduce(0) { $0 + $1.name.utf8.count + $1.value.utf8.count }
    // As a text: values nest, and a single one may have megabytes.
    let parameters = request.parameters.map { JSONWriter().withBytes(of: .object($0)) { $0.count } } ?? 0
    return 4096 + (request.body?.count ?? 0) + parts + fields + request.path.utf8.count + parameters
      + (request.parameters?.count ?? 0) * 256
  }
}
