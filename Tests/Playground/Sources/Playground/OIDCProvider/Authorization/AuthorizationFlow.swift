import NIOHTTP1
import PosternJSON
import PosternSupport

/// Carries an authorization request from its arrival to the redirect back: at once where the user is logged in,
/// otherwise by way of the login page.
struct AuthorizationFlow: Sendable {
  /// A request whose user is at the login page.
  struct Pending: Sendable {
    /// The request.
    let request: AuthorizationRequest
    /// How often a wrong password was given.
    var failures = 0
  }

  private static let patience = Duration.seconds(600)

  let issuer: String
  let desk: LoginDesk
  let codes: AuthorizationCodes
  let idTokens: IDTokens
  let faults: Faults
  let clock: any EngineClock
  /// The requests under way, by the `transaction` of their login page.
  let pending: ExpiringStore<Pending>

  /// Answers a checked request; `session` is the one the browser already has.
  func answer(_ request: AuthorizationRequest, _ session: ProviderSession?) -> Reply {
    if let session, satisfies(session, request) { return complete(request, session) }
    if request.prompts.contains("none") {
      return reject(OAuthError(.loginRequired, "the user must log in first"), to: request.destination)
    }
    if let session = desk.announcedSession(requested: request.acrValues) { return begin(request, session) }
    let transaction = RandomText.next()
    guard pending.insert(Pending(request: request), under: transaction, for: Self.patience) else {
      return reject(.full, to: request.destination)
    }
    return Reply(page: LoginPage(request: request, transaction: transaction).page)
  }

  /// Answers a request whose user has just logged in.
  func begin(_ request: AuthorizationRequest, _ session: ProviderSession) -> Reply {
    if let subject = request.hintedSubject, subject != session.user.subject {
      return reject(OAuthError(.loginRequired, "another user than the hinted one logged in"), to: request.destination)
    }
    do throws(OAuthError) {
      let cookie = try desk.sessions.begin(session)
      var reply = complete(request, session)
      reply.headers.add(name: cookie.0, value: cookie.1)
      return reply
    } catch {
      return reject(error, to: request.destination)
    }
  }

  /// The redirect that reports an error to the client (RFC 6749 section 4.1.2.1, with `iss` of RFC 9207).
  func reject(_ error: OAuthError, to destination: AuthorizationRequest.Destination) -> Reply {
    redirect(destination, [("error", error.code.rawValue), ("error_description", error.description)])
  }

  /// The redirect back with a code, for a user whose login is enough.
  func complete(_ request: AuthorizationRequest, _ session: ProviderSession) -> Reply {
    do throws(OAuthError) {
      let (code, grant) = try codes.issue(for: request, session)
      var parameters = [("code", code)]
      if request.wantsIDToken {
        let context = IDTokens.Context(nonce: request.nonce, code: code)
        guard let token = try? idTokens.issue(grant, to: request.client, context) else {
          throw OAuthError(.serverError, "the ID token could not be signed")
        }
        parameters.append(("id_token", token))
      }
      return redirect(request.destination, parameters)
    } catch {
      return reject(error, to: request.destination)
    }
  }

  private func redirect(_ destination: AuthorizationRequest.Destination, _ parameters: [(String, String)]) -> Reply {
    let fault = faults.strikeAtOnce(.authorization, only: [.wrongState, .wrongIssuer])
    var parameters = parameters
    if let state = destination.state {
      parameters.append(("state", fault?.kind == .wrongState ? state + "x" : state))
    }
    parameters.append(("iss", fault?.kind == .wrongIssuer ? "https://another.example" : issuer))
    // RFC 9700 section 4.12: 303, so that a browser never repeats a posted password at the client.
    return .redirect(
      303, to: RedirectURI.adding(parameters, to: destination.redirectURI, asFragment: destination.usesFragment))
  }

  /// Whether the login of `session` is enough for `request` (OpenID Connect Core sections 3.1.2.1 and 3.1.2.3).
  private func satisfies(_ session: ProviderSession, _ request: AuthorizationRequest) -> Bool {
    let age = clock.wallNow.secondsSinceEpoch - session.authentication.time.secondsSinceEpoch
    return request.prompts.isDisjoint(with: ["login", "select_account"])
      && request.maxAge.map { age <= $0 } ?? true
      && (request.acrValues.isEmpty || request.acrValues.contains(session.authentication.acr))
      && request.loginHint.map { $0 == session.user.name } ?? true
      && request.hintedSubject.map { $0 == session.user.subject } ?? true
  }
}
