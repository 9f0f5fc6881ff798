import AuthEngine
import HTTPMessages
import JOSE
import PosternConfiguration
import PosternJSON
import PosternJSONRPC
import PosternObservability
import PosternProtocol
import PosternSupport
import TokenValidation

/// The issuer of a call's tokens: the requirements on them, and their keys.
struct TokenIssuer: Sendable {
  let rules: PreparedTokenRules
  /// The client that tokens are for, if it is known.
  let clientID: String?
  let keys: any KeySource
  /// The namespace of used tokens: those verified with a caller's own keys have one for each uid.
  let realm: String
  /// Whether a validation costs no more than the issuer's own keys do: a caller's keys, and decryption, may cost a lot.
  let isBounded: Bool

  /// The issuer that `reference` means: configured, or put together from the pieces.
  init(_ reference: some IssuerReference, _ context: CallContext, _ keySets: KeySetStore) throws(RPCFault) {
    let runtime = context.runtime
    if let name = reference.issuer {
      try Self.exclude(reference.expectedIssuer != nil, "expectedIssuer")
      try Self.exclude(reference.jwks != nil, "jwks")
      try Self.exclude(reference.jwksUrl != nil, "jwksUrl")
      let configured = try runtime.issuer(name)
      rules = configured.tokenRules
      clientID = reference.clientId ?? configured.clientID
      keys = runtime.keys(of: configured, in: keySets)
      realm = "issuer \(name)"
      isBounded = configured.tokens.encryption.keys.isEmpty
      return
    }
    guard let issuer = reference.expectedIssuer else {
      throw .invalidParams("Either issuer, or expectedIssuer with jwks or jwksUrl", path: "/issuer")
    }
    rules = PreparedTokenRules(
      AuthEngine.IDTokenConfiguration(issuer: issuer, algorithms: SignatureAlgorithm.asymmetric))
    clientID = reference.clientId
    (keys, isBounded) = try Self.keys(reference, context, keySets)
    realm = "peer \(context.caller.peer.uid)"
  }

  var tokens: AuthEngine.IDTokenConfiguration { rules.configuration }

  /// The client that tokens are for; the call must name it if the configuration does not.
  func requiredClientID() throws(RPCFault) -> String {
    guard let clientID else { throw .invalidParams("clientId is needed here", path: "/clientId") }
    return clientID
  }

  private static func exclude(_ isGiven: Bool, _ member: String) throws(RPCFault) {
    guard !isGiven else { throw .invalidParams("\(member) cannot be given together with issuer", path: "/\(member)") }
  }

  private static func keys(
    _ reference: some IssuerReference, _ context: CallContext, _ keySets: KeySetStore
  ) throws(RPCFault) -> (source: any KeySource, isBounded: Bool) {
    let rules = context.runtime.validation
    switch (reference.jwks, reference.jwksUrl) {
    case (let set?, nil):
      guard rules.allowsInlineKeys else {
        throw .invalidParams("validation.inlineJwks is off: name a configured issuer", path: "/jwks")
      }
      do throws(JOSEError) {
        let given = try keySets.given.set(set, of: context.uid)
        return (StaticJWKSet(given.keys), given.isCheap)
      } catch {
        throw RPCFault(.jwksInvalid, error.message, path: "/jwks")
      }
    case (nil, let text?):
      let url: HTTPURL
      do throws(HTTPURLError) {
        url = try HTTPURL(text)
      } catch {
        throw .invalidParams("jwksUrl \(error.phrase)", path: "/jwksUrl")
      }
      guard rules.keySetOrigins.contains(url.origin) else {
        throw RPCFault(.jwksURLNotAllowed, path: "/jwksUrl")
      }
      let source = keySets.source(
        at: url, for: context.uid, amongOrigins: rules.keySetOrigins.count, access: rules.access)
      return (source, false)
    case (_?, _?): throw .invalidParams("At most one of jwks and jwksUrl", path: "/jwksUrl")
    case (nil, nil): throw .invalidParams("expectedIssuer needs jwks or jwksUrl", path: "/jwks")
    }
  }
}
