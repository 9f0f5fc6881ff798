import PosternSupport

/// A token that a step-up has replaced.
struct RetiredToken: Sendable, Hashable {
  let value: String
  /// `token_type_hint` (RFC 7009 section 2.1).
  let hint: String
}

extension UserSessions {
  /// How many revocations of one step-up are under way at a time.
  private static let maxRevocations = 4

  /// Revokes what a step-up has replaced (RFC 7009), behind the fetches that may still carry it. Nobody waits for it,
  /// and nothing depends on it.
  func retire(_ tokens: [RetiredToken], of live: LiveSession, _ issuer: SessionIssuer) {
    guard !tokens.isEmpty else { return }
    uses.afterwards(live.handle.key) { [self] in
      revokeInBackground(live.owner) { [self] in await revoke(tokens, issuer) }
    }
  }

  private func revoke(_ tokens: [RetiredToken], _ issuer: SessionIssuer) async {
    var troubles: [String] = []
    var rest = tokens[...]
    while !rest.isEmpty {
      let some = rest.prefix(Self.maxRevocations)
      rest = rest.dropFirst(some.count)
      await withTaskGroup(of: String?.self) { group in
        for token in some { group.addTask { [self] in await trouble(revoking: token, issuer) } }
        for await trouble in group { if let trouble { troubles.append(trouble) } }
      }
    }
    guard let trouble = troubles.first else { return }
    observer?.observe(.troubled("tokens that a step-up replaced cannot be revoked", detail: trouble))
  }

  private func trouble(revoking token: RetiredToken, _ issuer: SessionIssuer) async -> String? {
    do throws(SessionError) {
      try await revoke(Secret(token.value), hint: token.hint, at: issuer, timeout: Self.revocationTimeout, trace: nil)
      return nil
    } catch {
      switch error.kind {
      // Where there is no endpoint for it they live to their end, and so does what others use.
      case .grantNotSupported, .sharedToken: return nil
      default: return error.detail
      }
    }
  }
}

extension SessionContents {
  /// Everything that is good at the issuer still: the refresh token first, access tokens by themselves, since not every
  /// issuer takes them along (RFC 7009 section 2.1, SHOULD).
  func retirable(at now: Timestamp) -> [RetiredToken] {
    let refresh = refreshToken.map { [RetiredToken(value: $0, hint: "refresh_token")] } ?? []
    return refresh
      + tokens.filter { $0.expiresAt > now }.map { RetiredToken(value: $0.value, hint: "access_token") }
  }
}
