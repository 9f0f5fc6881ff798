import HTTPMessages
import PosternSupport

/// The cookies of one scope at one resource, in bounds.
struct CookieJar {
  private struct Entry {
    let cookie: Cookie
    /// When a cookie of that name first came, and when it was last used: numbers that only grow.
    let created: Int
    var used: Int
  }

  private let policy: CookiePolicy
  private var entries: [Entry] = []
  private var clock = 0
  /// The size of all cookies.
  private(set) var byteCount = 0

  init(policy: CookiePolicy) { self.policy = policy }

  /// How many there are.
  var count: Int { entries.count }

  /// Keeps `cookie` instead of the one that it replaces; one that has expired only removes that. Beyond the bounds the
  /// least recently used cookies are removed.
  mutating func keep(_ cookie: Cookie, from url: HTTPURL, now: Timestamp) {
    // A response over plain HTTP cannot replace a cookie that is sent over TLS only (RFC 6265bis section 5.7).
    if url.origin.scheme != "https", entries.contains(where: { Self.isShadowed(cookie, by: $0.cookie) }) { return }
    clock += 1
    var created = clock
    if let index = entries.firstIndex(where: { cookie.replaces($0.cookie) }) {
      created = entries[index].created
      remove(at: index)
    }
    guard cookie.expiry.map({ $0 > now }) ?? true, cookie.byteCount <= policy.maxBytes else { return }
    dropExpired(now)
    entries.append(Entry(cookie: cookie, created: created, used: clock))
    byteCount += cookie.byteCount
    while entries.count > policy.maxCookies || byteCount > policy.maxBytes {
      guard let oldest = entries.indices.dropLast().min(by: { entries[$0].used < entries[$1].used }) else { return }
      remove(at: oldest)
    }
  }

  /// The pairs for a request to `url`: longer paths first, then older ones (RFC 6265 section 5.4).
  mutating func pairs(for url: HTTPURL, now: Timestamp) -> [(name: String, value: String)] {
    dropExpired(now)
    clock += 1
    var found: [Entry] = []
    for index in entries.indices where entries[index].cookie.goes(to: url) {
      entries[index].used = clock
      found.append(entries[index])
    }
    found.sort {
      let (left, right) = ($0.cookie.path.utf8.count, $1.cookie.path.utf8.count)
      return left == right ? $0.created < $1.created : left > right
    }
    return found.map { ($0.cookie.name, $0.cookie.value) }
  }

  private static func isShadowed(_ cookie: Cookie, by other: Cookie) -> Bool {
    other.isSecure && other.name.hasSameBytes(as: cookie.name)
      && (Cookie.domainMatches(cookie.domain, other.domain) || Cookie.domainMatches(other.domain, cookie.domain))
      && Cookie.pathMatches(cookie.path, other.path)
  }

  private mutating func dropExpired(_ now: Timestamp) {
    for index in entries.indices.reversed() where entries[index].cookie.expiry.map({ $0 <= now }) ?? false {
      remove(at: index)
    }
  }

  private mutating func remove(at index: Int) {
    byteCount -= entries[index].cookie.byteCount
    entries.remove(at: index)
  }
}
