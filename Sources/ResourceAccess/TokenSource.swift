import OAuthClient
import PosternSupport
import Sessions

/// Where one fetch gets its access token and the replacement of a rejected one.
enum TokenSource: Sendable {
  /// The tokens of a session of that kind; what they lack is reported to the last.
  case session(SessionRef, SessionKind, ScopeReports)
  /// The client's tokens (client credentials).
  case client(ClientCredentialsTokens, ClientCredentialsGrant)
  /// Tokens on behalf of the user of an inbound token.
  case exchanged(ExchangedTokens, ExchangeGrant, InboundToken)

  /// The tokens of `session`, which is found here, once for the fetch.
  static func tokens(
    of session: SessionRef, _ kind: SessionKind, reports: ScopeReports, in scope: CallScope
  ) async throws(ResourceError) -> TokenSource {
    do throws(SessionError) {
      return .session(try await session.found(kind, in: scope), kind, reports)
    } catch {
      throw ResourceError(error, kind: kind, issuer: session.issuer.issuer.name)
    }
  }

  /// The same of a session in memory; nil: it has to be looked up.
  static func tokensInMemory(
    of session: SessionRef, _ kind: SessionKind, reports: ScopeReports, in scope: CallScope
  ) throws(ResourceError) -> TokenSource? {
    do throws(SessionError) {
      return try session.foundInMemory(kind, in: scope).map { .session($0, kind, reports) }
    } catch {
      throw ResourceError(error, kind: kind, issuer: session.issuer.issuer.name)
    }
  }

  /// The session whose tokens they are; nil for others.
  var session: SessionRef? { if case .session(let session, _, _) = self { session } else { nil } }

  /// A token for `server` that is in memory and fresh; nil: it has to be waited for.
  func cachedToken(for server: ResourceServer, in scope: CallScope) throws(ResourceError) -> AccessToken? {
    switch self {
    case .session(let session, let kind, let reports):
      // A token without a key may have to be replaced first.
      guard server.senderConstraint != .dpop else { return nil }
      do throws(SessionError) {
        guard let token = try session.cachedToken(TokenNeed(of: server), in: scope) else { return nil }
        reports.check(token, of: session, for: server, in: scope)
        return token
      } catch {
        throw ResourceError(error, kind: kind, issuer: session.issuer.issuer.name)
      }
    case .client(let tokens, let grant): return tokens.cachedToken(for: grant, in: scope)
    case .exchanged: return nil
    }
  }

  /// A token for `server`, or one newer than `rejected`.
  func token(
    for server: ResourceServer, replacing rejected: AccessToken?, in scope: CallScope
  ) async throws(ResourceError) -> AccessToken {
    switch self {
    case .session(let session, let kind, let reports):
      do throws(SessionError) {
        var need = TokenNeed(of: server, rejected: rejected)
        var token = try await session.token(need, kind, in: scope)
        // It was issued before there was a key to bind it to, or elsewhere: the next one is requested with a proof.
        if server.senderConstraint == .dpop, case .none = token.binding, session.issuer.issuer.usesDPoP {
          need.rejected = token
          token = try await session.token(need, kind, in: scope)
        }
        reports.check(token, of: session, for: server, in: scope)
        return token
      } catch {
        throw ResourceError(error, kind: kind, issuer: session.issuer.issuer.name)
      }
    case .client(let tokens, let grant):
      do throws(TokenError) {
        guard let rejected else { return try await tokens.token(for: grant, in: scope) }
        return try await tokens.token(for: grant, replacing: rejected, in: scope)
      } catch {
        throw ResourceError(error, issuer: grant.issuer.name)
      }
    case .exchanged(let tokens, let grant, let inbound):
      do throws(TokenError) {
        return try await tokens.token(
          for: inbound, by: grant, replacing: rejected, in: scope)
      } catch {
        throw ResourceError(ofExchange: error, issuer: grant.issuer.name)
      }
    }
  }
}

extension TokenNeed {
  /// The token that requests to `server` carry. It may lack a part of the scope: the resource server decides.
  init(of server: ResourceServer, rejected: AccessToken? = nil) {
    self.init(scope: server.scope, audience: server.audience, mayLackScope: true, rejected: rejected)
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
  func check(_ token: AccessToken, of session: SessionRef, for server: ResourceServer, in scope: CallScope) {
    guard let wanted = server.scope, let granted = token.scope, !ScopeText.covers(granted, wanted),
      let handle = session.handle
    else { return }
    let report = Report(session: handle, resource: server.name)
    let isNew = made.withLock { made in
      guard made[report] == nil else { return false }
      made.set((), for: report, of: session.uid)
      return true
    }
    guard isNew else { return }
    observer.observe(.scopeMissing(resource: server.name, names: ScopeText.missing(in: granted, of: wanted)), in: scope)
  }
}
