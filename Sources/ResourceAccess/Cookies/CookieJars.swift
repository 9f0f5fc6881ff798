import HTTPMessages
public import OAuthClient
public import PosternSupport
public import Sessions

/// All jars, in memory only: one for each resource, scope, kind of authentication and level of a chain of endpoints.
public final class CookieJars: Sendable {
  struct Key: Hashable {
    let store: UInt64
    let scope: CookieScope
    let authentication: ResourceServer.Authentication
    /// The secret of `Authentication.credential`: another one may be another account's.
    var credential: StaticCredential.Fingerprint?
    /// The endpoint, or `narrow`, that the call came through; nil: none.
    var level: String?
    /// The inbound token on behalf of whose user the request is made, with `Authentication.onBehalfOf`.
    var inbound: StaticCredential.Fingerprint?
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

  /// Removes the cookies of levels that have ended.
  public func forget(levels: Set<String>) {
    guard !levels.isEmpty else { return }
    jars.withLock { $0.removeAll { key, _ in key.level.map(levels.contains) ?? false } }
  }

  /// Removes the jars of all policies but these, after a change of configuration.
  public func forgetAll(but policies: some Sequence<CookiePolicy>) {
    let stores = Set(policies.map(\.store))
    jars.withLock { $0.removeAll { key, _ in !stores.contains(key.store) } }
  }

  /// How many jars hold something.
  package var count: Int { jars.withLock { $0.count } }

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

/// How many cookies of a resource are kept. Every policy has jars of its own; a copy shares them.
public struct CookiePolicy: Sendable, Hashable, ConciseStringConvertible {
  /// The most cookies of one scope.
  public var maxCookies: Int
  /// The most bytes of names, values, domains and paths of one scope.
  public var maxBytes: Int
  /// The limits.
  public var description: String {
    "at most \(Concise.count(maxCookies, "cookie")), \(Concise.count(maxBytes, "byte"))"
  }
  /// Identifies the jars.
  let store = UInt64.random(in: .min ... .max)

  /// New, empty jars with these bounds.
  public init(maxCookies: Int = 50, maxBytes: Int = 64 << 10) {
    self.maxCookies = maxCookies
    self.maxBytes = maxBytes
  }
}

/// The uid and session whose cookies are sent with a request. Cookies of one scope are never sent in another.
public struct CookieScope: Sendable, Hashable, ConciseStringConvertible {
  /// The peer.
  public let uid: UInt32
  /// The session whose token is sent with the request, if one is.
  public let session: SessionHandle?
  /// Uid and session.
  public var description: String { Concise.text("cookies of uid \(uid)", session.map { "session \($0)" }) }

  /// A scope of the given parts.
  public init(uid: UInt32 = PeerID.ownUID, session: SessionHandle? = nil) {
    self.uid = uid
    self.session = session
  }
}

/// Removes the cookies of a session when it ends, before another observer sees that.
public struct CookieForgetting: SessionObserver {
  private let jars: CookieJars
  private let next: (any SessionObserver)?

  /// Passes events on to `next`, if there is one, after the cookies are removed.
  public init(from jars: CookieJars, then next: (any SessionObserver)?) {
    self.jars = jars
    self.next = next
  }

  /// Removes the cookies of a session that has ended, and passes the event on.
  public func observe(_ event: SessionEvent, in call: CallScope) {
    if case .ended(let handle, _, _) = event { jars.forget(session: handle) }
    next?.observe(event, in: call)
  }
}

extension CookieForgetting: ConciseStringConvertible {}
