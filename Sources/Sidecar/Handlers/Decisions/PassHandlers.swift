import AuthEngine
import HTTPMessages
import PosternConfiguration
import PosternJSON
import PosternJSONRPC
import PosternObservability
import PosternProtocol
import PosternSupport

/// The methods `pass.*`: params to the engine, and its values to results.
struct PassHandlers: Sendable {
  let engine: Engine

  /// Adds the methods to the table.
  func add(to table: inout MethodTable) {
    add(PassMethods.GetConfiguration.self, to: &table) { (client, params, options, _) async throws(PassError) in
      .init(try await client.configuration(includingTempPass: params.includeTempPass ?? false, options: options))
    }
    add(PassMethods.CreateSession.self, to: &table) { (client, params, options, _) async throws(PassError) in
      let login = PassLoginParameters(
        mvpd: params.mvpd, domainName: params.domainName, redirectURL: params.redirectUrl)
      return .init(try await client.createSession(login, options: options))
    }
    add(PassMethods.ResumeSession.self, to: &table) { (client, params, options, _) async throws(PassError) in
      let login = PassLoginParameters(
        mvpd: params.mvpd, domainName: params.domainName, redirectURL: params.redirectUrl)
      return .init(try await client.resumeSession(code: params.code, login, options: options))
    }
    add(PassMethods.GetSession.self, to: &table) { (client, params, options, _) async throws(PassError) in
      .init(try await client.session(code: params.code, options: options))
    }
    table.waiting(PassProfileMethods.ListProfiles.self) { (params, context) async throws(RPCFault) in
      let selection = try Self.selection(params)
      return try await call(params, context) { (client, options) async throws(PassError) in
        .init(try await client.profiles(selection, options: options))
      }
    }
    add(PassProfileMethods.Authorize.self, to: &table) { (client, params, options, audit) async throws(PassError) in
      let decisions = try await client.authorize(params.resources, mvpd: params.mvpd, options: options)
      audit?.note(decisions)
      return .init(decisions)
    }
    add(PassProfileMethods.Logout.self, to: &table) { (client, params, options, _) async throws(PassError) in
      .init(try await client.logout(mvpd: params.mvpd, redirectURL: params.redirectUrl, options: options))
    }
  }

  private func add<Method: RPCMethod>(
    _ method: Method.Type, to table: inout MethodTable,
    _ body:
      @escaping @Sendable (PassClient, Method.Params, PassOptions, AuditEntry?) async throws(PassError)
      -> Method.Result
  ) where Method.Params: PassSharedParams {
    table.waiting(method) { (params, context) async throws(RPCFault) in
      try await call(params, context) { (client, options) async throws(PassError) in
        try await body(client, params, options, context.audit)
      }
    }
  }

  /// Runs `body` with the client and the options of a call.
  private func call<Result>(
    _ params: some PassSharedParams, _ context: CallContext,
    _ body: (PassClient, PassOptions) async throws(PassError) -> Result
  ) async throws(RPCFault) -> Result {
    let client = try client(of: params.provider, context)
    do throws(PassError) {
      return try await body(client, PassOptions(params))
    } catch {
      throw ErrorMap.fault(error)
    }
  }

  /// The calls to a provider. One that the rule hides is answered as one that is not configured.
  private func client(of name: String, _ context: CallContext) throws(RPCFault) -> PassClient {
    let reason: String
    switch context.runtime.decisionPoint(name) {
    case .failure(let absence): reason = absence.reason
    case .success(let point):
      let client = PassClient(
        at: point, over: engine.preauthorizer, in: context.scope)
      if let client { return client }
      reason = "the decision point is not of kind adobe-pass"
    }
    throw RPCFault(
      .passNotConfigured, reason, path: "/provider", outcome: .notSent, isRetryable: false)
  }

  /// The profiles that a call is about, of which it names at most one kind.
  private static func selection(_ params: PassProfileMethods.ListProfiles.Params) throws(RPCFault)
    -> PassProfileSelection
  {
    let isAll = params.all ?? false
    if isAll, params.mvpd != nil { throw .invalidParams("all is not given with mvpd", path: "/all") }
    guard let code = params.code else {
      guard params.waitMs == nil else { throw .invalidParams("waitMs is given with code only", path: "/waitMs") }
      return isAll ? .all : params.mvpd.map { .mvpd($0) } ?? .remembered
    }
    guard params.mvpd == nil, !isAll else {
      throw .invalidParams("code is not given with mvpd or all", path: "/code")
    }
    return .code(code, wait: .milliseconds(params.waitMs ?? 0))
  }
}

extension PassOptions {
  /// The options in the params of a call.
  fileprivate init(_ params: some PassSharedParams) {
    self.init(
      device: PassDevice(
        id: params.device?.id.map { Secret($0) }, information: params.device?.info ?? [:],
        address: params.device?.address),
      isSecondScreen: params.secondScreen ?? false,
      visitorID: params.visitorId.map { Secret($0) },
      platform: params.platform.map { PassPlatformToken($0.name, token: Secret($0.token)) },
      serviceToken: params.serviceToken.map { Secret($0) },
      partner: params.givenPartner.map {
        PassPartner(
          name: $0.name, frameworkStatus: $0.frameworkStatus.object, samlResponse: $0.samlResponse.map { Secret($0) })
      },
      tempPassIdentity: params.tempPass.map { Secret($0.identity) })
  }
}

extension ErrorMap {
  /// The error of a call to Adobe Pass.
  static func fault(_ error: PassError) -> RPCFault {
    switch error.kind {
    case .invalidParameter(let parameter): return .invalidParams(error.detail, path: parameter.path.jsonPointer)
    case .cancelled: return RPCFault(error.kind.code)
    case .rejected, .unreachable, .storeUnavailable, .deadlineExceeded: break
    }
    var fault = RPCFault(
      error.kind.code, error.kind == .deadlineExceeded ? nil : error.detail, outcome: error.outcome,
      isRetryable: error.isRetryable, retryAfter: error.retryAfter, upstream: error.upstream)
    fault.details["error"] = error.status.flatMap { try? JSONValueEncoder().encode(Preauthorize.Status($0)) }
    fault.details["next"] = error.next.map { .string($0.rawValue) }
    return fault
  }
}
