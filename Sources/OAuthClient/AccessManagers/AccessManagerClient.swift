package import HTTPMessages
import PosternJSON
package import PosternSupport

/// Sends requests to access managers with a single sign-on token, or for the name of its cookie.
///
/// Written from the vendor's documentation. Redirects are never followed: the token is sent to no other server.
package struct AccessManagerClient: Sendable {
  package static let maxBytes = 256 << 10
  /// The time for which a cookie's name is cached. It is a setting of the server that hardly ever changes.
  private static let nameLife = Duration.seconds(3600)

  private struct CookieName: Sendable {
    let name: String
    package let expiry: MonotonicInstant
  }

  let provider: ProviderClient
  private let names = Locked(BoundedCache<HTTPURL, CookieName>(capacity: 64))

  package init(provider: ProviderClient) { self.provider = provider }

  /// Sends `form` (a GET without one) with the single sign-on token, as a cookie and as the header of the same name,
  /// which some of the endpoints read instead.
  package func send(
    _ form: [(name: String, value: String)]?, body: [UInt8]? = nil, to url: HTTPURL, token: Secret<String>,
    version: String, of manager: AccessManager, for issuer: Issuer, timeout: Duration = ProviderClient.timeout,
    in scope: CallScope
  ) async throws(TokenError) -> HTTPResponse {
    guard url.origin == manager.baseURL.origin else {
      throw TokenError(.notPossible, "the single sign-on token goes to the access manager's origin only")
    }
    guard AccessManager.isToken(token.reveal()) else {
      throw TokenError(.notPossible, "the single sign-on token is not allowed in a cookie")
    }
    let name = try await cookieName(of: manager, for: issuer, in: scope)
    var fields = HTTPFields()
    fields["Cookie"] = "\(name)=\(token.reveal())"
    if !HTTPFieldRules.isReserved(name), !name.hasSameASCIILetters(as: "cookie") { fields[name] = token.reveal() }
    fields["Accept-API-Version"] = version
    fields["Accept"] = "application/json"
    if form != nil { fields["Content-Type"] = FormEncoding.mediaType }
    if body != nil { fields["Content-Type"] = "application/json" }
    let response = try await send(
      HTTPRequest(
        method: form == nil && body == nil ? "GET" : "POST", url: url, fields: fields,
        body: body ?? form.map { FormEncoding.encode($0) }), for: issuer, timeout: timeout, in: scope)
    // Callers may get the answer, and must not learn the token from it. A redirect to the access manager itself is not
    // checked: it may contain the request.
    let texts =
      response.fields.values(of: "Location").filter { (try? url.resolving(reference: $0))?.origin != url.origin } + [
        String(decoding: response.body, as: UTF8.self)
      ]
    let secret = token.reveal()
    guard !texts.contains(where: { EchoedToken.isIn($0, secret) }), !EchoedToken.isIn(response, secret) else {
      throw TokenError(
        .malformed, "the access manager's answer contains the single sign-on token", status: response.status)
    }
    return response
  }

  /// Returns the name of the token's cookie: the configured one, else the server's.
  package func cookieName(
    of manager: AccessManager, for issuer: Issuer, in scope: CallScope
  ) async throws(TokenError) -> String {
    if let name = manager.cookieName ?? knownCookieName(of: manager) { return name }
    let response = try await send(
      HTTPRequest(method: "GET", url: try manager.url("/json/serverinfo/*"), fields: HTTPFields()), for: issuer,
      in: scope)
    guard response.status == 200 else {
      throw OAuthAnswer(response).failure(of: "access manager's serverinfo")
    }
    let document = try? JSONParser(maxBytes: Self.maxBytes, maxDepth: 16).parse(response.body)
    guard let name = document?["cookieName"]?.stringValue, (1...256).contains(name.utf8.count),
      HTTPFieldRules.isName(name)
    else { throw TokenError(.malformed, "the access manager's serverinfo names no cookie", status: response.status) }
    let expiry = provider.services.clock.monotonicNow + Self.nameLife
    names.withLock { $0[manager.baseURL] = CookieName(name: name, expiry: expiry) }
    return name
  }

  /// Returns the cached name of the cookie.
  package func knownCookieName(of manager: AccessManager) -> String? {
    let now = provider.services.clock.monotonicNow
    return names.withLock { $0[manager.baseURL] }.flatMap { $0.expiry > now ? $0.name : nil }
  }

  /// Returns the issuer's authorization endpoint where it is the access manager's, else the access manager's own.
  package func authorizationURL(
    of manager: AccessManager, for issuer: Issuer, in scope: CallScope
  ) async throws(TokenError) -> HTTPURL {
    do throws(TokenError) {
      let url = try await provider.url(of: .authorization, at: issuer, in: scope)
      if url.lies(under: manager.baseURL) { return url }
    } catch {
      guard case .notPossible = error.kind else { throw error }
    }
    return try manager.url("/oauth2\(manager.realmPath)/authorize")
  }

  /// Ends the user's single sign-on session.
  package func endSession(
    _ token: Secret<String>, of manager: AccessManager, for issuer: Issuer, timeout: Duration, in scope: CallScope
  ) async -> UpstreamEnd {
    do throws(TokenError) {
      let response = try await send(
        nil, body: JSONWriter().write(["tokenId": .string(token.reveal())]),
        to: try manager.url("/json\(manager.realmPath)/sessions", query: "_action=logout"),
        token: token, version: "resource=3.1, protocol=1.0", of: manager, for: issuer, timeout: timeout, in: scope)
      // 401: it was over already.
      return (200..<300).contains(response.status) || response.status == 401 ? .ended : .failed
    } catch {
      return .failed
    }
  }

  /// Sends `request` as it is.
  package func send(
    _ request: HTTPRequest, for issuer: Issuer, timeout: Duration = ProviderClient.timeout, in scope: CallScope
  ) async throws(TokenError) -> HTTPResponse {
    guard issuer.accepts(request.url) else {
      throw TokenError(.notPossible, "the access manager's scheme is not https")
    }
    var request = request
    scope.trace?.add(to: &request.fields)
    let options = issuer.transferOptions(
      deadline: Deadline(in: timeout, on: provider.services.clock), maxBodyBytes: Self.maxBytes,
      for: scope.user)
    do throws(TransportError) {
      return try await provider.services.send(request, options: options, for: .token(issuer.name), in: scope)
    } catch {
      throw TokenError(.unreachable(error), "the access manager cannot be reached: \(error.cause)")
    }
  }
}

/// Finds a user's token in an access manager's answer, in any spelling.
package enum EchoedToken {
  package static func isIn(_ response: HTTPResponse, _ token: String) -> Bool {
    if isIn(String(decoding: response.body, as: UTF8.self), token) { return true }
    // Parsing decodes `\u0041` and `\/`; the text written again has no such escapes, and tokens need none.
    guard let document = try? JSONParser(allowsNUL: true).parse(response.body) else { return false }
    return isIn(JSONWriter().string(document), token)
  }

  /// Whether `text` contains the token as it is, or form-encoded.
  package static func isIn(_ text: String, _ token: String) -> Bool {
    text.containsBytes(of: token) || text.containsBytes(of: FormEncoding.encode(token))
  }
}
