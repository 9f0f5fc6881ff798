import HTTPMessages
import OAuthClient
import PosternSupport
import Sessions

/// The cookies of one fetch: adds them to requests, and keeps those of responses.
struct CallCookies {
  let jars: CookieJars
  var key: CookieJars.Key
  let policy: CookiePolicy
  let hosts: Set<String>
  /// The single sign-on cookie is neither kept nor sent.
  let reserved: ReservedCookies

  /// Nil where none are kept, and where a session's cookies would be but the session is not known.
  init?(_ jars: CookieJars, _ server: ResourceServer, _ options: FetchOptions) {
    guard let policy = server.cookies, let scope = options.cookieScope ?? Self.scope(options.session) else {
      return nil
    }
    let authentication = server.authentication
    guard scope.session != nil || !authentication.isUsers else { return nil }
    let inbound = options.onBehalfOf.map { StaticCredential.Fingerprint($0.value) }
    guard inbound != nil || authentication != .onBehalfOf else { return nil }
    self.jars = jars
    self.policy = policy
    key = CookieJars.Key(
      store: policy.store, scope: scope, authentication: authentication, level: options.narrowing,
      inbound: authentication == .onBehalfOf ? inbound : nil)
    hosts = Set(server.locations.map(\.origin.host))
    reserved = ReservedCookies(server.reservedCookies)
  }

  private static func scope(_ session: SessionRef?) -> CookieScope? {
    session.flatMap { session in session.handle.map { CookieScope(uid: session.uid, session: $0) } }
  }

  /// Adds what is kept for `request` to its one `Cookie` field, behind the caller's own cookies, which win by name.
  func attach(to request: inout HTTPRequest, now: Timestamp) {
    let kept = jars.pairs(key, for: request.url, now: now).filter { !reserved.occur(in: $0.name) }
    guard !kept.isEmpty else { return }
    let given = request.fields.values(of: "Cookie").filter { !$0.isEmpty }
    let names = IdenticalStrings(
      given.flatMap { $0.split(atByte: ";") }.map { HTTPFieldRules.trimmed(String($0.prefix(beforeBytes: "="))) })
    let added = kept.filter { !names.contains($0.name) }.map { "\($0.name)=\($0.value)" }
    guard !added.isEmpty else { return }
    request.fields["Cookie"] = (given + added).joined(separator: "; ")
  }

  /// Keeps what `response` to a request to `url` sets.
  func keep(_ response: HTTPResponse, from url: HTTPURL, now: Timestamp) {
    let cookies = response.fields.values(of: "Set-Cookie").prefix(CookieJars.maxLines).compactMap { field -> Cookie? in
      guard let line = CookieLine(field), !reserved.occur(in: line.name) else { return nil }
      return Cookie(line, from: url, hosts: hosts, now: now)
    }
    guard !cookies.isEmpty else { return }
    jars.keep(cookies, key, policy: policy, from: url, now: now)
  }
}
