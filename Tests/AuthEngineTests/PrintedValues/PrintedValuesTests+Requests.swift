import AuthEngine
import EngineTestSupport
import HTTPMessages
import JOSE
import PosternCrypto
import PosternJSON
import PosternSupport
import PosternTestSupport
import SDKCompatibility

@testable import Entitlements
@testable import ResourceAccess

/// Samples of requests, responses, resource servers and decisions.
extension PrintedValuesTests {
  static func requests() throws -> Samples {
    let engine = Engine { _, _ in .status(200) }
    let url = try HTTPURL("https://api.test/orders?token=\(secret)")
    let bytes = Array(secret.utf8)
    let part = MultipartPart(name: foreign, fileName: foreign, mimeType: "text/plain", data: bytes)
    let request = ResourceRequest(
      path: "orders?token=\(secret)", method: "POST", parameters: ["password": .string(secret)], body: bytes,
      multipart: [part], headers: ["X-Key": secret])
    var options = FetchOptions(authentication: .user, timeout: .seconds(1))
    options.tokenPolicy = TokenManagementPolicy(validatingURL: [url])
    let stop = AdviceStop(
      advices: [PolicyAdvice(type: PolicyAdvice.Name.transaction, value: secret)], response: .sample(url),
      progress: AdviceProgress(), session: nil, continuation: secret)
    let sent = HTTPRequest(method: "GET", url: url, fields: ["Cookie": secret])
    return [
      "PolicyEvent": PolicyEvent(request: sent, response: HTTPResponse(status: 401)),
      "HTTPMethod": HTTPMethod.query, "ResourceRequest": request, "ResourceResponse": ResourceResponse.sample(url),
      "ResourceError": ResourceError(.adviceRequired, "the user has to confirm", stop: stop),
      "UpstreamFault": UpstreamFault(status: 400, code: "invalid_grant", description: secret) as Any? ?? "",
      "MultipartPart": part, "AdviceStop": stop, "AdviceProgress": stop.progress, "FetchAdvice": FetchAdvice(),
      "FetchOptions": options,
      "BodySupply": BodySupply(length: nil) { .bytes(bytes) }, "BodySupply.Read": BodySupply.Read.bytes(bytes),
      "AuthorizationPolicy": AuthorizationPolicy(validatingURL: [url]),
      "TokenManagementPolicy": TokenManagementPolicy(validatingURL: [url]),
      "RequestUpdate": RequestUpdate(url: url.description, headers: ["X-Key": secret]),
      "NetworkTask": NetworkTask(request: request, clock: engine.clock),
      "MutableResourceRequest":
        ResourceRequestBuilder(request),
      "PreauthorizeRequest.Builder": PreauthorizeRequest.Builder(),
      "DeviceClient": DeviceClient(fetcher: engine.fetcher, server: try .testing()),
    ]
  }

  static func servers() throws -> Samples {
    let engine = Engine { _, _ in .status(200) }
    let url = try HTTPURL("https://api.test/orders?token=\(secret)")
    let server = try ResourceServer.testing(baseURL: "https://api.test/base/?token=\(secret)")
    let credential = try StaticCredential(.header(name: "X-Api-Key", prefix: "\(secret) "), value: Secret(secret))
    let limits = OriginLimits(concurrency: 3, breaker: .init(failures: 3, openFor: .seconds(9)))
    let bench = try SessionBench()
    let key = JWK(.symmetric(SymmetricKey(Array(secret.utf8.prefix(32)))))
    return [
      "ResourceServer": server,
      "StaticCredential": credential, "StaticCredential.Form": credential.form,
      "StaticCredentialError": StaticCredential.fault(in: "", as: credential.form) as Any? ?? "",
      "AdviceRules": AdviceRules(accessManager: url),
      "CookieJars": engine.fetcher.cookies, "CookiePolicy": CookiePolicy(), "CookieScope": CookieScope(uid: 1),
      "OriginLimits": limits, "OriginLimits.Breaker": limits.breaker as Any? ?? "",
      "OriginState": OriginState(resource: "billing", origin: url.origin),
      "LongWork": LongWork(from: 1) { globalConcurrentExecutor },
      "PayloadEncryption": try PayloadEncryption(
        algorithm: .direct, encryption: .a256GCM, recipient: key),
      "PayloadEncryption.KeyError": PayloadEncryption.KeyError.recipient(JOSEError(.weakKey, "too few bits")),
      "UserClient": UserClient(
        fetcher: engine.fetcher, server: server, sessions: bench.sessions, issuer: bench.issuer, uid: 1),
    ]
  }

  static func decisions() throws -> Samples {
    let engine = Engine { _, _ in .status(200) }
    let url = try HTTPURL("https://pdp.test/?token=\(secret)")
    let status = Status(
      status: 403, code: "denied", action: "none", message: foreign, details: secret, helpURL: secret, trace: secret)
    let decision = Decision(id: foreign, error: status, source: .local, age: .zero, expiresAt: nil)
    let fault = DecisionFault(status, retry: .after(.seconds(2)))
    let subject = DecisionSubject(id: foreign, properties: ["token": .string(secret)], uid: 1)
    let opa = OPAProvider.Settings(baseURL: url, path: "policy/allow")
    let zen = AuthZENProvider.Settings(baseURL: url, identifier: "https://pdp.test")
    let manager = AccessManagerProvider.Settings(
      baseURL: url, evaluator: .user(name: Secret(secret), password: Secret(secret)))
    let device = AdobePassDevice(identifier: Secret(secret), information: ["model": .string(secret)])
    let pass = AdobePassProvider.Settings(
      baseURL: url, serviceProvider: "P", mvpd: "M", softwareStatement: Secret(secret), device: device)
    var settings = DecisionPoint.Settings()
    settings.credential = .token(Secret(secret))
    let point = DecisionPoint(name: foreign, settings: settings, provider: try OPAProvider(opa))
    return [
      "PreauthorizeRequest": PreauthorizeRequest(resources: [foreign]),
      "PreauthorizeResponse": PreauthorizeResponse(outcome: .response, decisions: [decision], status: status),
      "Decision": decision, "Status": status, "DecisionFault": fault, "DecisionFault.Retry": fault.retry,
      "DecisionSelection": DecisionSelection(uid: 1, provider: foreign, resources: [foreign]), "DecisionPoint": point,
      "DecisionPoint.Settings": settings,
      "DecisionCredential": settings.credential,
      "DecisionDegradation": DecisionDegradation(
        isPermit: false, until: engine.clock.wallNow),
      "DecisionRateLimiter": DecisionRateLimiter(perSecond: 1, burst: 1), "DecisionSubject": subject,
      "ResourceName": ResourceName(foreign), "AccessManagerEvaluator": manager.evaluator,
      "AccessManagerProvider.Settings": manager,
      "AccessManagerProvider": try AccessManagerProvider(manager, clock: engine.clock),
      "AdobePassProvider.Settings": pass,
      "AdobePassProvider": try AdobePassProvider(pass, state: AdobePassState(clock: engine.clock)),
      "AdobePassDevice": device,
      "AuthZENProvider.Settings": zen, "AuthZENProvider": try AuthZENProvider(zen, clock: engine.clock),
      "AuthZENReasons": AuthZENReasons.usual, "OPAProvider.Settings": opa, "OPAProvider": try OPAProvider(opa),
      "DecisionContextError": DecisionContextError(about: foreign, foreign),
      "DecisionBatch": DecisionBatch(subject: subject, action: "view", resources: [ResourceName(foreign)]),
      "AccessEnabler": AccessEnabler(
        preauthorizer: Preauthorizer(engine.services, deviceTokens: engine.tokens), subject: subject,
        decisionPoint: point),
      "DecisionVerdict": DecisionVerdict.deny(status, lifetime: .seconds(1)),
    ]
  }
}

extension ResourceResponse {
  /// 1,234 bytes of JSON from `url`.
  static func sample(_ url: HTTPURL) -> ResourceResponse {
    ResourceResponse(
      status: 200, reason: "OK", url: url,
      fields: ["Content-Type": "application/json", "Set-Cookie": PrintedValue.secret],
      body: Array(PrintedValue.secret.utf8) + [UInt8](repeating: 32, count: 1234 - PrintedValue.secret.utf8.count),
      retryAfter: nil, attempts: 1, tokenRefreshed: false, timing: HTTPResponse(status: 200).timing)
  }
}
