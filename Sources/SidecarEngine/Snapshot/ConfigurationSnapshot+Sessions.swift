package import AuthEngine
package import SidecarAccess

extension ConfigurationSnapshot {
  /// Finds configured issuers by name, as far as `scope` shows them.
  package func issuerLookup(
    _ engine: Engine, in scope: PeerScope = .everything
  ) -> @Sendable (String) throws(SessionError) -> SessionIssuer {
    { [self] (name) throws(SessionError) in
      guard scope.contains(issuer: name), let configured = issuers[name] else {
        throw noSuchSessionIssuer(name, in: scope)
      }
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
