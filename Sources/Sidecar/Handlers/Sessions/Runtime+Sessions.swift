import AuthEngine
import JSONRPC
import Protocol

extension Runtime {
  /// The issuer of that configured name, for sessions.
  func sessionIssuer(_ name: String, _ engine: Engine) throws(RPCFault) -> SessionIssuer {
    do throws(SessionError) {
      return try issuerLookup(engine)(name)
    } catch {
      throw ErrorMap.fault(error, path: "/issuer")
    }
  }

  /// Finds configured issuers by name.
  func issuerLookup(_ engine: Engine) -> @Sendable (String) throws(SessionError) -> SessionIssuer {
    { [self] (name) throws(SessionError) in
      guard let configured = issuers[name] else {
        throw SessionError.issuerUnknown("no issuer of that name is configured")
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
