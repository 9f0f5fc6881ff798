/// Every method of this build, in the order of the documentation.
public enum ProtocolMethods {
  /// Their types.
  public static let all: [any RPCMethod.Type] = [
    Discover.self, GetInfo.self, Health.self, Metrics.self, ReloadConfig.self, Subscribe.self, Unsubscribe.self,
    RegisterDelegate.self, CancelRequest.self, CreateEndpoint.self, ListEndpoints.self, RevokeEndpoint.self,
    Narrow.self, ExplainCall.self, FetchResource.self, GetTask.self, ListTasks.self, SuspendTask.self,
    ResumeTask.self, CancelTask.self, Preauthorize.self, InvalidateDecisions.self, ValidateIDToken.self,
    ValidateAccessToken.self, ValidateRequest.self, ValidateLogoutToken.self, IntrospectToken.self, VerifyJWS.self,
    DecryptJWE.self, CreateSession.self,
    BeginAuthorization.self, CompleteAuthorization.self, BeginDeviceAuthorization.self,
    CompleteDeviceAuthorization.self, GetSession.self, ListSessions.self, RefreshSession.self, EndSession.self,
    GetAccessToken.self, RevokeToken.self, ParseAdvice.self,
    Authenticate.self, AuthenticateWithAdvice.self, PassMethods.GetConfiguration.self,
    PassMethods.CreateSession.self, PassMethods.ResumeSession.self, PassMethods.GetSession.self,
    PassProfileMethods.ListProfiles.self, PassProfileMethods.Authorize.self, PassProfileMethods.Logout.self,
  ]

  /// How the lists of endpoints bound each, by its name.
  public static let chainRules: [String: ChainRule] = Dictionary(uniqueKeysWithValues: all.map { ($0.name, $0.chain) })

  private static let traits: [String: MethodTraits] = Dictionary(
    uniqueKeysWithValues: all.lazy.filter { !$0.traits.isEmpty }.map { ($0.name, $0.traits) })

  /// How the steps of a call treat the method of that name.
  public static func traits(of name: String) -> MethodTraits { traits[name] ?? [] }

  /// The names of the methods with those traits.
  public static func names(with wanted: MethodTraits) -> Set<String> {
    Set(traits.lazy.filter { $0.value.isSuperset(of: wanted) }.map(\.key))
  }

  /// Their descriptions, for the OpenRPC document.
  public static var descriptions: [MethodDescription] {
    all.map { describe($0) }
  }

  /// The description of the method of that name; nil when there is none.
  public static func description(of name: String) -> MethodDescription? {
    all.first { $0.name == name }.map { describe($0) }
  }

  private static func describe<Method: RPCMethod>(_ method: Method.Type) -> MethodDescription {
    MethodDescription(method)
  }
}
