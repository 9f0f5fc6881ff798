import AuthEngine
import PosternJSONRPC
import SidecarAccess
import SidecarEngine

extension VisibleConfiguration {
  /// The issuer of that configured name, for sessions.
  func sessionIssuer(_ name: String, _ engine: Engine) throws(RPCFault) -> SessionIssuer {
    do throws(SessionError) {
      return try issuerLookup(engine)(name)
    } catch {
      throw ErrorMap.fault(error, path: "/issuer")
    }
  }

  /// Whether the caller can continue the suspended fetch: neither its resource nor its session's issuer is
  /// hidden.
  func shows(_ fetch: SuspendedFetches.Fetch) -> Bool {
    guard scope.contains(resource: fetch.origin.resource) else { return false }
    guard scope.issuers != nil else { return true }
    let issuer = fetch.origin.options.session?.issuer.issuer.name
    return issuer.map(scope.contains(issuer:)) ?? true
  }
}
