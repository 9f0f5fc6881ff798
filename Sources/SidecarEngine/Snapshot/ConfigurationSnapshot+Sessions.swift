package import AuthEngine

extension ConfigurationSnapshot {
  /// Finds configured issuers by name.
  package func issuerLookup(_ engine: Engine) -> @Sendable (String) throws(SessionError) -> SessionIssuer {
    { [self] (name) throws(SessionError) in
      guard let configured = issuers[name] else { throw Self.noSuchSessionIssuer }
      guard configured.clientID != nil else {
        throw SessionError.grantNotSupported("the issuer is configured without clientId")
      }
      return SessionIssuer(
        issuer: configured.issuer, tokens: configured.tokens,
        keys: self.keys(of: configured, in: engine.keySets), scope: configured.scope, implicit: configured.implicit,
        accessManager: configured.accessManager, redirectURI: configured.redirectURI)
    }
  }
}
