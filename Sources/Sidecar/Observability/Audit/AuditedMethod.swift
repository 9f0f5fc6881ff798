import PosternJSON
import PosternProtocol

/// The methods that decide something, or hand something out: what is recorded of them.
enum AuditedMethod {
  /// The kind of event of a call of `method`; nil when it is not recorded.
  static func event(of method: String) -> String? { events[method] }

  private static let events: [String: String] = [
    Preauthorize.name: "decision",
    ValidateIDToken.name: "validation",
    ValidateAccessToken.name: "validation",
    ValidateRequest.name: "validation",
    ValidateLogoutToken.name: "validation",
    IntrospectToken.name: "validation",
    FetchResource.name: "access",
    GetAccessToken.name: "token",
    CreateSession.name: "session",
    CompleteAuthorization.name: "session",
    CompleteDeviceAuthorization.name: "session",
    RefreshSession.name: "session",
    EndSession.name: "session",
    RevokeToken.name: "session",
    Authenticate.name: "login",
    AuthenticateWithAdvice.name: "stepUp",
    ReloadConfig.name: "configuration",
    PassMethods.CreateSession.name: "login",
    PassMethods.ResumeSession.name: "login",
    PassProfileMethods.ListProfiles.name: "login",
    PassProfileMethods.Authorize.name: "decision",
    PassProfileMethods.Logout.name: "login",
  ]

  /// Params that name things, and no more: never a token, a body, a query or an answer of a user's.
  static let namingParams = ["resource", "provider", "issuer", "expectedIssuer", "clientId", "audience", "auth"]

  /// The outcome of a call of `method` and further facts, from its result.
  static func outcome(of method: String, _ result: JSONValue) -> (String, JSONObject) {
    var facts = JSONObject()
    func copy(_ names: String...) { for name in names { facts[name] = result[name].flatMap(AuditFact.bounded) } }
    switch method {
    case ValidateIDToken.name, ValidateAccessToken.name, ValidateRequest.name, ValidateLogoutToken.name,
      IntrospectToken.name:
      facts["reason"] = result["error"]?["code"]
      facts["key"] = result["key"]
      facts["subject"] = result["claims"]?["sub"].flatMap(AuditFact.bounded)
      facts["ended"] = result["ended"]
      return (result["valid"] == true ? "valid" : "invalid", facts)
    case GetAccessToken.name:
      copy("scope", "expiresAt")
      return ("issued", facts)
    case EndSession.name:
      copy("upstream")
      return ("ended", facts)
    case RevokeToken.name: return ("revoked", facts)
    case ReloadConfig.name:
      copy("changed")
      return ("reloaded", facts)
    case Authenticate.name, AuthenticateWithAdvice.name:
      copy("txId", "sessionUpgraded")
      facts["session"] = result["session"].flatMap(AuditFact.session)
      facts["reason"] = result["error"]?["code"].map { .string("\($0.integerValue ?? 0)") }
      switch result["state"]?.stringValue {
      case "completed": return (method == Authenticate.name ? "authenticated" : "satisfied", facts)
      case "failed": return (method == Authenticate.name ? "refused" : "declined", facts)
      default: return ("continued", facts)
      }
    case PassMethods.CreateSession.name, PassMethods.ResumeSession.name:
      copy("actionName")
      return (result["actionName"] == "authorize" ? "authenticated" : "continued", facts)
    case PassProfileMethods.ListProfiles.name:
      copy("state")
      return (result["state"] == "authenticated" ? "authenticated" : "continued", facts)
    case PassProfileMethods.Authorize.name: return ("decided", facts)
    case PassProfileMethods.Logout.name:
      copy("upstream")
      return ("ended", facts)
    default:
      // Methods whose result is a session.
      copy("issuer", "kind", "scope", "subject", "acr")
      facts["session"] = result["session"].flatMap(AuditFact.session)
      return (method == RefreshSession.name ? "refreshed" : "created", facts)
    }
  }
}
