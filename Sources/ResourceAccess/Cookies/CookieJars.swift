import HTTPMessages
public import PosternSupport
public import Sessions

/// All jars, in memory only: one for each resource, scope and kind of authentication.
public final class CookieJars: Sendable {
  struct Key: Hashable {
    let store: UInt64
    let scope: CookieScope
    let authentication: ResourceServer.Authentication
    /// The secret of `Authentication.credential`: another one may be another account's.
    var credential: StaticCredential.Fingerprint?
  }

  /// More jars, or more bytes in all of them, evict the least recently used ones of the uid that has most.
  static let maxJars = 4096
  static let maxBytes = 32 << 20
  /// The most `Set-Cookie` fields of one response that are read.
  static let maxLines = 64

  private let jars = Locked(FairCache<UInt32, Key, CookieJar>(capacity: maxJars, maxWeight: maxBytes))

  init() {}

  /// Removes the cookies of a session that has ended.
  public func forget(session: SessionHandle) {
    jars.withLock { $0.removeAll { key, _ in key.scope.session == session } }
  }

  /// Removes the jars of all policies but these, after a change of configuration.
  public func forgetAll(but policies: some Sequence<CookiePolicy>) {
    let stores = Set(policies.map(\.store))
    jars.withLock { $0.removeAll { key, _ in !stores.contains(key.store) } }
  }

  /// How many jars hold something.
  var count: Int { jars.withLock { $0.count } }

  func pairs(_ key: Key, for url: HTTPURL, now: Timestamp) -> [(name: String, value: String)] {
    jars.withLock { jars in
      guard var jar = jars[key] else { return [] }
      let pairs = jar.pairs(for: url, now: now)
      Self.put(jar, key, into: &jars)
      return pairs
    }
  }

  func keep(_ cookies: [Cookie], _ key: Key, policy: CookiePolicy, from url: HTTPURL, now: Timestamp) {
    jars.withLock { jars in
      var jar = jars[key] ?? CookieJar(policy: policy)
      for cookie in cookies { jar.keep(cookie, from: url, now: now) }
      Self.put(jar, key, into: &jars)
    }
  }

  private static func put(_ jar: CookieJar, _ key: Key, into jars: inout FairCache<UInt32, Key, CookieJar>) {
    if jar.count == 0 {
      jars.remove(key)
    } else {
      jars.set(jar, for: key, of: key.scope.uid, weight: jar.byteCount)
    }
  }
}

extension CookieJars: ConciseStringConvertible {}
