import HTTPMessages
import Support

/// All jars, in memory only: for each resource, owner and kind of authentication one.
public final class CookieJars: Sendable {
  struct Key: Hashable {
    let store: UInt64
    let owner: CookieOwner
    let authentication: ResourceServer.Authentication
  }

  private struct Entry {
    var jar: CookieJar
    var used: Int
  }

  private struct State {
    var jars: [Key: Entry] = [:]
    var byteCount = 0
    var clock = 0
  }

  /// More jars, or more bytes in all of them, push out those that were of use longest ago.
  static let maxJars = 4096
  static let maxBytes = 32 << 20
  /// So many `Set-Cookie` fields of one answer are looked at.
  static let maxLines = 64

  private let state = Locked(State())

  init() {}

  /// Takes away what belongs to a session that has ended.
  public func forget(session: SessionHandle) { remove { $0.owner.session == session } }

  /// Takes away the jars of all policies but these, after a change of configuration.
  public func forgetAll(but policies: some Sequence<CookiePolicy>) {
    let stores = Set(policies.map(\.store))
    remove { !stores.contains($0.store) }
  }

  /// How many jars hold something.
  var count: Int { state.withLock { $0.jars.count } }

  func pairs(_ key: Key, for url: HTTPURL, now: Timestamp) -> [(name: String, value: String)] {
    state.withLock { state in
      guard var entry = state.jars[key] else { return [] }
      state.byteCount -= entry.jar.byteCount
      let pairs = entry.jar.pairs(for: url, now: now)
      state.byteCount += entry.jar.byteCount
      state.clock += 1
      entry.used = state.clock
      state.jars[key] = entry.jar.count == 0 ? nil : entry
      return pairs
    }
  }

  func keep(_ cookies: [Cookie], _ key: Key, policy: CookiePolicy, from url: HTTPURL, now: Timestamp) {
    state.withLock { state in
      state.clock += 1
      var entry = state.jars[key] ?? Entry(jar: CookieJar(policy: policy), used: state.clock)
      state.byteCount -= entry.jar.byteCount
      for cookie in cookies { entry.jar.keep(cookie, from: url, now: now) }
      entry.used = state.clock
      state.byteCount += entry.jar.byteCount
      state.jars[key] = entry.jar.count == 0 ? nil : entry
      while state.jars.count > Self.maxJars || state.byteCount > Self.maxBytes {
        guard let oldest = state.jars.min(by: { $0.value.used < $1.value.used }) else { return }
        state.jars[oldest.key] = nil
        state.byteCount -= oldest.value.jar.byteCount
      }
    }
  }

  private func remove(where isUnwanted: (Key) -> Bool) {
    state.withLock { state in
      for (key, entry) in state.jars where isUnwanted(key) {
        state.jars[key] = nil
        state.byteCount -= entry.jar.byteCount
      }
    }
  }
}
