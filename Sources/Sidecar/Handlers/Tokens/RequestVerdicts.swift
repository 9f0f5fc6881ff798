import AuthEngine
import HTTPMessages
import PosternConfiguration
import PosternJSON
import PosternJSONRPC
import PosternProtocol
import PosternSupport
import TokenValidation

extension TokenHandlers {
  /// `validateRequest`: params to requirements, the engine, and its verdict to a result.
  func validateRequest(
    _ params: ValidateRequest.Params, _ context: CallContext
  ) async throws(RPCFault) -> ValidateRequest.Result {
    let issuer = try TokenIssuer(params, context, engine.keySets)
    var source = TokenSource(issuer: nil, tokens: issuer.tokens, keys: issuer.keys)
    if let name = params.issuer { source = try context.runtime.issuer(name).tokenSource(keys: issuer.keys) }
    let (request, requirements) = (params.request, try params.requirements())
    let body: @Sendable () async throws(RPCFault) -> ValidateRequest.Result = {
      [engine, source] () async throws(RPCFault) in
      do throws(RequestValidationError) {
        return ValidateRequest.Result(
          try await engine.validateRequest(
            request, requiring: requirements, from: source, in: context.scope))
      } catch {
        throw ErrorMap.fault(error)
      }
    }
    return try await issuer.isBounded ? body() : computation.run(context, body)
  }
}

extension ValidateRequest.Params {
  fileprivate var request: IncomingRequest {
    var fields = HTTPFields()
    for (name, value) in headers {
      for line in value.values { fields.append(name, line) }
    }
    return IncomingRequest(method: method, url: url, fields: fields, clientCertificate: clientCertificate)
  }

  fileprivate func requirements() throws(RPCFault) -> RequestRequirements {
    RequestRequirements(
      audience: audience, requiredScopes: requiredScopes ?? [],
      dpop: dpop ?? .optional, maxAge: try InputLimits.maxAge(maxAge),
      acrValues: acrValues ?? [], resourceMetadata: resourceMetadata)
  }
}

extension ValidateRequest.Result {
  fileprivate init(_ verdict: RequestVerdict) {
    switch verdict {
    case .accepted(let request):
      self.init(valid: true)
      claims = .object(request.claims)
      tokenType = request.tokenType
      if request.jkt != nil || request.x5tS256 != nil {
        confirmation = ValidateRequest.Confirmation(jkt: request.jkt, x5tS256: request.x5tS256)
      }
      cached = request.isCached
    case .rejected(let rejection):
      self.init(valid: false)
      error = ValidateRequest.Violation(TokenViolation(rejection.fault), detail: rejection.detail)
      let headers = JSONObject(rejection.response.fields.lines.map { ($0.name, .string($0.value)) })
      response = ValidateRequest.Response(status: rejection.response.status, headers: HeaderTexts(headers))
    }
  }
}

extension ErrorMap {
  /// Why there is no verdict on a request.
  fileprivate static func fault(_ error: RequestValidationError) -> RPCFault {
    switch error {
    case .malformed(let member, let problem): .invalidParams("\(member) \(problem)", path: "/\(member)")
    case .undecided(let error): fault(error)
    case .notIntrospected(let error): fault(error)
    case .notRecorded(let error): fault(SessionError(error))
    }
  }
}
