public import PosternKit

extension Shop {
  /// A login on another device.
  public func deviceLogin(show: @Sendable (String) async throws -> Void) async throws -> Session {
    let begun = try await postern.sessions.beginDeviceAuthorization()
    try await show("Open \(begun.verificationURI) and enter \(begun.userCode)")
    return try await postern.sessions.completeDeviceAuthorization(begun)
  }

  /// A web application's login: the browser is the user's.
  public func webLogin(browse: @Sendable (_ url: String) async throws -> String) async throws -> Session {
    let begun = try await postern.sessions.beginAuthorization(redirectURI: "http://127.0.0.1:8000/callback")
    let callback = try await browse(begun.url)
    return try await postern.sessions.completeAuthorization(callback: callback, state: begun.state)
  }

  /// A request of the program's only user; `not_authenticated` if no user is logged in.
  public func ownOrders() async throws -> ResourceResponse {
    let user = try await postern.sessions.only()
    return try await postern.fetch("orders", from: "orders", session: user)
  }

  /// The sessions, and the end of one.
  public func logout(_ session: Session) async throws(SessionError) -> UserSessions.UpstreamEnd {
    for session in try await postern.sessions.all() {
      print(session.issuer, session.subject ?? "unknown", session.kind, session.scope ?? "")
    }
    let fresh = try await postern.sessions.refresh(session.handle)
    let end = try await postern.sessions.end(fresh.handle)
    return end
  }

  /// A request for a known user who is not logged in now.
  public func news(for user: Session) async throws -> ResourceResponse {
    let known = try await postern.sessions.create(from: .implicit(profile: user.subject ?? ""))
    return try await postern.fetch("echo/news", from: "news", session: known.handle)
  }

  /// Decisions with their reasons.
  public func channels(_ session: SessionHandle) async -> [String] {
    let answer = await postern.preauthorize(
      ["https://shop.test/open/news", "https://shop.test/denied"], session: session)
    if let status = answer.status { print("no decisions: \(status.message)") }
    return answer.decisions.map { decision in
      decision.isAuthorized ? "\(decision.id): yes" : "\(decision.id): \(decision.error?.message ?? "no")"
    }
  }

  /// The violation of an ID token, or its subject.
  public func subject(of idToken: String, nonce: String) async throws -> String {
    switch try await postern.validateIDToken(idToken, nonce: nonce) {
    case .valid(let claims, _, _, _): return claims["sub"]?.stringValue ?? ""
    case .invalid(let fault): return "\(fault.code.rawValue) in \(fault.claim ?? "the token")"
    }
  }

  /// A token for a library that sends requests itself.
  public func header() async throws(SessionError) -> String {
    let token = try await postern.tokens.accessToken(for: "jobs")
    return "Bearer \(token.value.reveal())"
  }
}
