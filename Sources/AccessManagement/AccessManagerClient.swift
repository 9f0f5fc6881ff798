package import HTTPMessages
package import OAuthClient
import PosternJSON
package import PosternSupport

/// Requests to access managers that carry a single sign-on token, or ask in which cookie it goes.
///
/// Written from the vendor's documentation. Redirects are never followed: the token goes nowhere else.
package struct AccessManagerClient: Sendable {
  package static let maxBytes = 256 << 10
  /// How long a cookie's name is believed. It is a setting of the server that hardly ever changes.
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
    trace: TraceContext?
  ) async throws(TokenError) -> HTTPResponse {
    guard url.origin == manager.baseURL.origin else {
      throw TokenError(.notPossible, "the single sign-on token goes to the access manager's origin only")
    }
    guard AccessManager.isToken(token.reveal()) else {
      throw TokenError(.notPossible, "the single sign-on token cannot stand in a cookie")
    }
    let name = try await cookieName(of: manager, for: issuer, trace: trace)
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
        body: body ?? form.map { FormEncoding.encode($0) }), for: issuer, timeout: timeout, trace: trace)
    // What it says may be told to callers, who must not learn the token from it. Not so the places of its own to which
    // it leads, where the request may stand as it came.
    let said =
      response.fields.values(of: "Location").filter { (try? url.resolving(reference: $0))?.origin != url.origin } + [
        String(decoding: response.body, as: UTF8.self)
      ]
    let secret = token.reveal()
    guard !said.contains(where: { EchoedToken.isIn($0, secret) }), !EchoedToken.isIn(response, secret) else {
      throw TokenError(
        .malformed, "the access manager's answer repeats the single sign-on token", status: response.status)
    }
    return response
  }

  /// In which cookie the token goes: as configured, else as the server says.
  package func cookieName(
    of manager: AccessManager, for issuer: Issuer, trace: TraceContext?
  ) async throws(TokenError) -> String {
    if let name = manager.cookieName ?? knownCookieName(of: manager) { return name }
    let response = try await send(
      HTTPRequest(method: "GET", url: try manager.url("/json/serverinfo/*"), fields: HTTPFields()), for: issuer,
      trace: trace)
    guard response.status == 200 else {
      throw TokenResponse.failure(response, of: "access manager's serverinfo")
    }
    let document = try? JSONParser(maxBytes: Self.maxBytes, maxDepth: 16).parse(response.body)
    guard let name = document?["cookieName"]?.stringValue, (1...256).contains(name.utf8.count),
      HTTPFieldRules.isName(name)
    else { throw TokenError(.malformed, "the access manager's serverinfo names no cookie", status: response.status) }
    let expiry = provider.upstream.clock.monotonicNow + Self.nameLife
    names.withLock { $0[manager.baseURL] = CookieName(name: name, expiry: expiry) }
    return name
  }

  /// The cookie's name as the server said it not long ago.
  package func knownCookieName(of manager: AccessManager) -> String? {
    let now = provider.upstream.clock.monotonicNow
    return names.withLock { $0[manager.baseURL] }.flatMap { $0.expiry > now ? $0.name : nil }
  }

  /// Sends what is ready to be sent.
  package func send(
    _ request: HTTPRequest, for issuer: Issuer, timeout: Duration = ProviderClient.timeout, trace: TraceContext?
  ) async throws(TokenError) -> HTTPResponse {
    guard issuer.accepts(request.url) else {
      throw TokenError(.notPossible, "the access manager's scheme is not https")
    }
    var request = request
    trace?.add(to: &request.fields)
    let options = issuer.transferOptions(
      deadline: Deadline(in: timeout, on: provider.upstream.clock), maxBodyBytes: Self.maxBytes,
      forCaller: true)
    do throws(TransportError) {
      return try await provider.upstream.send(request, options: options, for: .token(issuer.name), trace: trace)
    } catch {
      throw TokenError(.unreachable(error), "the access manager cannot be reached: \(error.code.rawValue)")
    }
  }
}
