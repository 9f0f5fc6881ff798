import OAuthClient
import PosternSupport
import Sessions

/// Where one fetch gets its access token and the replacement of a rejected one.
enum TokenSource: Sendable {
  /// The tokens of a session of that kind, at that issuer; what they lack is reported to the last.
  case session(SessionTokens, SessionKind, Issuer, ScopeReports)
  /// The client's tokens (client credentials).
  case client(ClientCredentialsTokens, ClientCredentialsGrant)
  /// Tokens on behalf of the user of an inbound token, for calls of that uid.
  case exchanged(ExchangedTokens, ExchangeGrant, InboundToken, uid: UInt32)

  /// The tokens of the session that `session` means.
  static func tokens(
    of session: FetchSession, _ kind: SessionKind, reports: ScopeReports
  ) async throws(ResourceError) -> TokenSource {
    do throws(SessionError) {
      return .session(try await session.tokens(kind), kind, session.issuer.issuer, reports)
    } catch {
      throw ResourceError(error, kind: kind, issuer: session.issuer.issuer.name)
    }
  }

  /// The tokens of the session, where these are one's.
  var sessionTokens: SessionTokens? { if case .session(let tokens, _, _, _) = self { tokens } else { nil } }

  /// A token for `server`, or one newer than `rejected`.
  func token(
    for server: ResourceServer, replacing rejected: AccessToken?, deadline: Deadline, trace: TraceContext?
  ) async throws(ResourceError) -> AccessToken {
    switch self {
    case .session(let tokens, let kind, let issuer, let reports):
      do throws(SessionError) {
        var token = try await tokens.token(
          scope: server.scope, audience: server.audience, replacing: rejected, deadline: deadline,
          trace: trace)
        // It was issued before there was a key to bind it to, or elsewhere: the next one is requested with a proof.
        if server.senderConstraint == .dpop, case .none = token.binding, issuer.usesDPoP {
          token = try await tokens.token(
            scope: server.scope, audience: server.audience, replacing: token, deadline: deadline,
            trace: trace)
        }
        reports.check(token, of: tokens, for: server)
        return token
      } catch {
        throw ResourceError(error, kind: kind, issuer: issuer.name)
      }
    case .client(let tokens, let grant):
      do throws(TokenError) {
        guard let rejected else { return try await tokens.token(for: grant, deadline: deadline, trace: trace) }
        return try await tokens.token(for: grant, replacing: rejected, deadline: deadline, trace: trace)
      } catch {
        throw ResourceError(error, issuer: grant.issuer.name)
      }
    case .exchanged(let tokens, let grant, let inbound, let uid):
      do throws(TokenError) {
        return try await tokens.token(
          for: inbound, by: grant, uid: uid, replacing: rejected, deadline: deadline, trace: trace)
      } catch {
        throw ResourceError(ofExchange: error, issuer: grant.issuer.name)
      }
    }
  }
}

/// Reports sessions' tokens that lack the scope of a resource, once for each session and resource.
final class ScopeReports: Sendable {
  private struct Report: Hashable {
    let session: SessionHandle
    let resource: String
  }

  /// Beyond it, a report is made once more.
  private static let capacity = 4096

  private let observer: any EngineObserver
  private let made = Locked(FairCache<UInt32, Report, Void>(capacity: capacity))

  init(observer: any EngineObserver) { self.observer = observer }

  /// Looks at `token`, which a fetch from `server` is about to carry. A token of unknown scope lacks nothing.
  func check(_ token: AccessToken, of session: SessionTokens, for server: ResourceServer) {
    guard let wanted = server.scope, let granted = token.scope, !ScopeText.covers(granted, wanted) else {
      return
    }
    let report = Report(session: session.handle, resource: server.name)
    let isNew = made.withLock { made in
      guard made[report] == nil else { return false }
      made.set((), for: report, of: session.uid)
      return true
    }
    guard isNew else { return }
    observer.observe(.scopeMissing(resource: server.name, names: ScopeText.missing(in: granted, of: wanted)))
  }
}
