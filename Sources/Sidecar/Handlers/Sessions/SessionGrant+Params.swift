import AuthEngine
import PosternJSON
import PosternJSONRPC
import PosternProtocol
import PosternSupport

extension SessionGrant {
  /// The grant of a call: exactly the members that belong to its type.
  init(_ grant: CreateSession.Grant) throws(RPCFault) {
    let given: [(String, Bool)] = [
      ("accessToken", grant.accessToken != nil), ("refreshToken", grant.refreshToken != nil),
      ("idToken", grant.idToken != nil), ("expiresIn", grant.expiresIn != nil), ("scope", grant.scope != nil),
      ("ssoToken", grant.ssoToken != nil), ("subjectToken", grant.subjectToken != nil),
      ("subjectTokenType", grant.subjectTokenType != nil), ("actorToken", grant.actorToken != nil),
      ("assertion", grant.assertion != nil), ("code", grant.code != nil), ("codeVerifier", grant.codeVerifier != nil),
      ("redirectUri", grant.redirectUri != nil), ("profile", grant.profile != nil),
    ]
    let lengths: [(String, String?, Int)] = [
      ("accessToken", grant.accessToken, 16 << 10), ("refreshToken", grant.refreshToken, 16 << 10),
      ("ssoToken", grant.ssoToken, 16 << 10), ("idToken", grant.idToken, 64 << 10), ("scope", grant.scope, 4 << 10),
      ("subjectToken", grant.subjectToken, 64 << 10), ("subjectTokenType", grant.subjectTokenType, 1 << 10),
      ("actorToken", grant.actorToken, 64 << 10), ("assertion", grant.assertion, 64 << 10),
      ("code", grant.code, 16 << 10), ("codeVerifier", grant.codeVerifier, 128),
      ("redirectUri", grant.redirectUri, 2048), ("profile", grant.profile, 1 << 10),
    ]
    for (name, text, most) in lengths where text?.utf8.count ?? 0 > most {
      throw .invalidParams("\(name) is longer than \(most) bytes", path: "/grant/\(name)")
    }
    func only(_ allowed: Set<String>) throws(RPCFault) {
      for (name, isGiven) in given where isGiven && !allowed.contains(name) {
        throw .invalidParams("\(name) does not belong to \(grant.type.rawValue)", path: "/grant/\(name)")
      }
    }
    func need(_ value: String?, _ name: String) throws(RPCFault) -> String {
      guard let value, !value.isEmpty else {
        throw .invalidParams("\(grant.type.rawValue) needs \(name)", path: "/grant/\(name)")
      }
      return value
    }
    switch grant.type {
    case .tokens:
      try only(["accessToken", "refreshToken", "idToken", "expiresIn", "scope", "ssoToken"])
      var tokens = GivenTokens()
      tokens.accessToken = grant.accessToken.map { Secret($0) }
      tokens.refreshToken = grant.refreshToken.map { Secret($0) }
      tokens.idToken = grant.idToken
      tokens.expiresIn = grant.expiresIn
      tokens.scope = grant.scope
      tokens.ssoToken = grant.ssoToken.map { Secret($0) }
      self = .tokens(tokens)
    case .refreshToken:
      try only(["refreshToken"])
      self = .refreshToken(Secret(try need(grant.refreshToken, "refreshToken")))
    case .tokenExchange:
      try only(["subjectToken", "subjectTokenType", "actorToken"])
      self = .tokenExchange(
        subjectToken: Secret(try need(grant.subjectToken, "subjectToken")), subjectTokenType: grant.subjectTokenType,
        actorToken: grant.actorToken.map { Secret($0) })
    case .jwtBearer:
      try only(["assertion"])
      self = .jwtBearer(assertion: Secret(try need(grant.assertion, "assertion")))
    case .authorizationCode:
      try only(["code", "codeVerifier", "redirectUri"])
      self = .authorizationCode(
        code: Secret(try need(grant.code, "code")), codeVerifier: grant.codeVerifier.map { Secret($0) },
        redirectURI: try need(grant.redirectUri, "redirectUri"))
    case .implicit:
      try only(["profile"])
      self = .implicit(profile: try need(grant.profile, "profile"))
    case .sso:
      try only(["ssoToken"])
      self = .sso(Secret(try need(grant.ssoToken, "ssoToken")))
    }
  }
}
