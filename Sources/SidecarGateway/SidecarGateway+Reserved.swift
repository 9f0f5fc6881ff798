import HTTPMessages
import LocalServer
import PosternConfiguration
import PosternJSON
import PosternJSONRPC
import PosternProtocol
import PosternSupport
import Sidecar

/// The gateway's own paths, below `/.postern/`.
extension SidecarGateway {
  private static let pieceBytes = 64 << 10
  /// The largest form with a logout token.
  private static let maxFormBytes = 64 << 10

  /// Answers a request below `/.postern/`; `path` is what follows.
  func reserved(_ path: String, _ request: GatewayRequest, _ response: any GatewayResponse) async {
    let parts = path.split(atByte: "/", maxSplits: 2, omittingEmptySubsequences: false).map(String.init)
    guard parts.first == "auth" || !service.isStranger(connection(of: request).peer) else {
      return await reject(RPCFault(.peerForbidden), request, response)
    }
    switch (parts.first, parts.count) {
    case ("auth", 2...):
      let remainder = parts.count < 3 ? nil : "/\(parts[2])\(request.query.map { "?\($0)" } ?? "")"
      let answer = await verdict(on: request, remainder, at: parts[1])
      await Self.send(answer.status, answer.fields, to: response)
    case ("backchannel-logout", 2): await endSessions(at: parts[1], request, response)
    default:
      let fault = RPCFault.invalidParams("The gateway has nothing at this path", path: "/path")
      await reject(fault, status: 404, request, response)
    }
  }

  /// Ends a request with an error.
  func reject(
    _ fault: RPCFault, status: Int? = nil, _ request: GatewayRequest, _ response: any GatewayResponse
  ) async {
    let traces = request.fields.values(of: "traceparent")
    let traced = service.traced(
      fault, continuing: traces.count == 1 ? traces[0] : nil, of: connection(of: request).peer.uid)
    await Problem(traced, status: status).send(response)
  }

  static func send(
    _ status: Int, _ fields: HTTPFields, _ body: [UInt8] = [], to response: any GatewayResponse
  ) async {
    do throws(GatewayClientGone) {
      try await response.begin(status: status, fields: fields, length: Int64(body.count))
      // In pieces: a program that does not read has one of them waiting.
      for start in stride(from: 0, to: body.count, by: pieceBytes) {
        try await response.write(Array(body[start..<min(body.count, start + pieceBytes)]))
      }
      try await response.end()
    } catch {
      // The program has gone.
    }
  }

  // MARK: - Forward authentication

  /// The response to a front about its client's request at the protected API `name`. The body is not read: it is the
  /// client's, if anything.
  private func verdict(on request: GatewayRequest, _ remainder: String?, at name: String) async -> ForwardedResponse {
    let caller = connection(of: request)
    let snapshot = service.snapshot
    guard let api = snapshot.configuration.gateway.protect[name],
      snapshot.access.scope(of: caller.peer)?.contains(issuer: api.issuer) == true
    else {
      // By the rules of the method, so that a peer that may not call it learns nothing about names.
      let fault = await reject(.invalidParams("No such API is protected", path: "/issuer"), nil, caller)
      return fault.code == .invalidParams ? .unknownAPI : Self.response(to: fault)
    }
    let forwarded = ForwardedRequest(
      method: request.method, remainder: remainder, authority: request.authority, fields: request.fields)
    var params: JSONObject
    do throws(ForwardingError) {
      params = try forwarded.params(for: api)
    } catch {
      let fault = RPCFault.invalidParams("gateway.protect.\(name): \(error.message)", path: "/headers")
      return Self.response(to: await reject(fault, ["issuer": .string(api.issuer)], caller))
    }
    let traces = request.fields.values(of: "traceparent")
    if traces.count == 1 { params["meta"] = ["traceparent": .string(traces[0])] }
    switch await service.call(ValidateRequest.name, .object(params), by: caller) {
    case .success(.value(let result)):
      let answer = ForwardedResponse(result, at: api)
      for field in answer.emptied {
        service.identityIsEmpty(field.name, of: field.claim, at: name, why: field.reason, for: caller.peer.uid)
      }
      return answer
    case .success: return .unavailable
    case .failure(let fault): return Self.response(to: fault)
    }
  }

  /// Counts and records a request that cannot be judged; returns the first error, which may be another one.
  private func reject(_ fault: RPCFault, _ params: JSONValue?, _ caller: PeerConnection) async -> RPCFault {
    guard case .failure(let first) = await service.call(ValidateRequest.name, params, endingWith: fault, by: caller)
    else {
      return fault
    }
    return first
  }

  private static func response(to fault: RPCFault) -> ForwardedResponse {
    switch fault.code {
    case .peerForbidden, .invalidParams: .forbidden
    default: .unavailable
    }
  }

  // MARK: - Back-channel logout

  /// Takes a logout token (OpenID Connect Back-Channel Logout 1.0 section 2.5) of the configured issuer `issuer`.
  private func endSessions(at issuer: String, _ request: GatewayRequest, _ response: any GatewayResponse) async {
    guard request.method == "POST" else {
      return await Self.send(405, ["Allow": "POST", "Cache-Control": "no-store"], to: response)
    }
    let params: JSONValue
    switch await Self.logoutToken(of: request) {
    case .success(let token): params = ["issuer": .string(issuer), "logoutToken": .string(token), "end": true]
    case .failure(let problem): return await Self.reject(problem.reason, response)
    }
    switch await service.call(ValidateLogoutToken.name, params, by: connection(of: request)) {
    case .success(.value(let verdict)) where verdict["valid"] == true:
      await Self.send(200, ["Cache-Control": "no-store"], to: response)
    case .success(.value(let verdict)):
      await Self.reject(verdict["error"]?["message"]?.stringValue ?? "the logout token is not valid", response)
    case .success: await reject(RPCFault(.internalError), request, response)
    case .failure(let fault) where fault.code == .invalidParams: await Self.reject(fault.message, response)
    case .failure(let fault): await reject(fault, request, response)
    }
  }

  /// Why a form has no logout token; continues nothing, and quotes nothing.
  private struct FormProblem: Error {
    let reason: String
  }

  private static func logoutToken(of request: GatewayRequest) async -> Result<String, FormProblem> {
    let types = request.fields.values(of: "content-type")
    guard types.count == 1, MediaType(types[0])?.essence == FormEncoding.mediaType else {
      return .failure(FormProblem(reason: "the request is no form"))
    }
    var form: [UInt8] = []
    reading: while true {
      switch await request.body.next() {
      case .bytes(let bytes): form += bytes
      case .end: break reading
      case .failed(let reason): return .failure(FormProblem(reason: "the request's body \(reason)"))
      }
      guard form.count <= maxFormBytes else { return .failure(FormProblem(reason: "the form is larger than 64 KiB")) }
    }
    guard let text = String(validating: form, as: UTF8.self) else {
      return .failure(FormProblem(reason: "the form is malformed"))
    }
    // No other field decides anything.
    let tokens = FormEncoding.readableFields(of: text).filter { $0.name == "logout_token" }
    guard tokens.count == 1, !tokens[0].value.isEmpty else {
      return .failure(FormProblem(reason: "the form has not exactly one logout_token"))
    }
    return .success(tokens[0].value)
  }

  private static func reject(_ reason: String, _ response: any GatewayResponse) async {
    let error: JSONValue = ["error": "invalid_request", "error_description": .string(reason)]
    await send(
      400, ["Content-Type": "application/json", "Cache-Control": "no-store"], JSONWriter().write(error), to: response)
  }
}
