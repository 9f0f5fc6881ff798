import HTTPMessages
package import OAuthClient
import PosternSupport
import SessionRecords

/// A token that its session has no more.
package struct RetiredToken: Sendable, Hashable {
  let value: String
  /// `token_type_hint` (RFC 7009 section 2.1).
  let hint: String
}

/// Revokes tokens at their issuer (RFC 7009).
package struct TokenRevocation: Sendable {
  /// How long a revocation in the background may take: one uid's are bounded in number.
  static let timeout = Duration.seconds(10)
  /// How many revocations of one step-up run at a time.
  private static let maxConcurrent = 4

  let requests: TokenRequests
  /// Tokens that all uids share, and that none has revoked.
  let sharedTokens: ClientCredentialsTokens?
  let tasks: UserTasks
  let uses: RunningUses<RecordKey>
  let observer: (any SessionObserver)?

  /// Revokes a token; `sharedToken` for one that all uids share.
  func revoke(
    _ token: Secret<String>, hint: String?, at issuer: SessionIssuer, timeout: Duration = ProviderClient.timeout,
    in call: CallScope
  ) async throws(SessionError) {
    guard sharedTokens?.isShared(token, at: issuer.issuer) != true else { throw .sharedToken }
    do throws(TokenError) {
      try await requests.provider.revoke(token, hint: hint, at: issuer.issuer, timeout: timeout, in: call)
    } catch {
      throw SessionError(error)
    }
  }

  /// Revokes tokens that no session will have, in the background: they must not stay valid at the issuer.
  func revokeOrphaned(_ answer: TokenRequests.Answer, _ issuer: SessionIssuer, of uid: UInt32, in call: CallScope) {
    let refreshToken = answer.response.refreshToken
    let token = RetiredToken(
      value: refreshToken ?? answer.response.accessToken, hint: refreshToken == nil ? "access_token" : "refresh_token")
    tasks.revoke(for: uid, at: issuer.issuer.name, ofLogin: true, in: call) { call in
      guard let failure = await failure(revoking: token, issuer, call) else { return }
      observer?.observe(.troubled("tokens of no session cannot be revoked", detail: failure), in: call)
    }
  }

  /// Revokes tokens that a step-up has replaced, in the background, once the fetches that may still carry them have
  /// completed. Nothing depends on it.
  func retire(_ tokens: [RetiredToken], of live: LiveSession, _ issuer: SessionIssuer, in call: CallScope) {
    guard !tokens.isEmpty else { return }
    uses.afterwards(live.handle.key) {
      tasks.revoke(for: live.uid, at: issuer.issuer.name, in: call) { call in
        await revoke(tokens, of: "that a step-up replaced", issuer, call)
      }
    }
  }

  /// Revokes the tokens of `uid` whose sessions their issuer has ended, in the background. Most issuers have done it by
  /// themselves, so that nothing depends on it.
  package func revoke(_ tokens: [RetiredToken], endedBy issuer: SessionIssuer, of uid: UInt32, in call: CallScope) {
    guard !tokens.isEmpty else { return }
    tasks.revoke(for: uid, at: issuer.issuer.name, in: call) { call in
      await revoke(tokens, of: "of sessions that their issuer has ended", issuer, call)
    }
  }

  /// Stops where none of several tokens in a row can be revoked: the endpoint does not work now.
  private func revoke(_ tokens: [RetiredToken], of origin: String, _ issuer: SessionIssuer, _ call: CallScope) async {
    var failures: [String] = []
    var rest = tokens[...]
    while !rest.isEmpty, failures.count < 2 * Self.maxConcurrent {
      let some = rest.prefix(Self.maxConcurrent)
      rest = rest.dropFirst(some.count)
      await withTaskGroup(of: String?.self) { group in
        for token in some { group.addTask { await failure(revoking: token, issuer, call) } }
        for await failure in group { if let failure { failures.append(failure) } }
      }
    }
    guard let failure = failures.first else { return }
    observer?.observe(.troubled("tokens \(origin) cannot be revoked", detail: failure), in: call)
  }

  private func failure(revoking token: RetiredToken, _ issuer: SessionIssuer, _ call: CallScope) async -> String? {
    do throws(SessionError) {
      try await revoke(Secret(token.value), hint: token.hint, at: issuer, timeout: Self.timeout, in: call.untraced)
      return nil
    } catch {
      switch error.kind {
      // Without a revocation endpoint tokens live until they expire, and so do those that others use.
      case .grantNotSupported, .sharedToken: return nil
      default: return error.detail
      }
    }
  }
}

extension SessionContents {
  /// All tokens that are valid at the issuer still: the refresh token first, access tokens by themselves, since not
  /// every issuer revokes them along with it (RFC 7009 section 2.1, SHOULD).
  func revocable(at now: Timestamp) -> [RetiredToken] {
    let refresh = grant.refreshToken.map { [RetiredToken(value: $0, hint: "refresh_token")] } ?? []
    return refresh
      + tokens.filter { $0.expiresAt > now }.map { RetiredToken(value: $0.value, hint: "access_token") }
  }
}
