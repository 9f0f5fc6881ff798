import AuthEngine
import HTTPMessages
import PosternJSON
import PosternJSONRPC
import PosternProtocol
import PosternSupport

/// The steps of a fetch, in the order in which it passes them, up to its first request.
struct FetchExplanation {
  /// The longest URL that an explanation shows.
  private static let shownBytes = 2048

  let engine: Engine
  let fetch: CheckedFetch
  let context: CallContext
  /// The TCP ports that the process may connect to; nil for all.
  let ports: Set<UInt16>?

  private var server: ResourceServer { fetch.server }

  func steps() async -> [ExplanationStep] {
    var steps = [resource]
    let (method, url): (HTTPMethod, HTTPURL)
    do throws(ResourceError) {
      let preview = try engine.fetcher.preview(fetch.request, from: server, options: fetch.options)
      (method, url) = (preview.method, preview.url)
    } catch {
      let fault = await fetch.fault(error)
      let step = error.code == .pinMismatch ? "pins" : ExplainHandler.step(of: fault)
      return steps + [ExplanationStep(step, rejectedBy: fault)]
    }
    let shown = String(decoding: url.description.utf8.prefix(Self.shownBytes), as: UTF8.self)
    steps.append(passes("url", "\(method.rawValue) \(shown)", ["url": .string(shown)]))
    steps.append(
      passes("httpMethod", "\(method.rawValue) is a method of fetches", ["method": .string(method.rawValue)]))
    steps.append(passes("headers", "No header is reserved: \(fetch.request.headers.lines.count) given"))
    steps += protections
    steps += await tokenSteps()
    steps.append(await limits(method, url))
    steps += await ways(url)
    return steps
  }

  private func passes(
    _ step: String, _ summary: String, _ details: [String: JSONValue]? = nil
  ) -> ExplanationStep {
    ExplanationStep(step: step, verdict: .passes, summary: summary, details: details)
  }

  private var resource: ExplanationStep {
    passes(
      "resource", "Resource \(server.name) is at \(server.baseURL)",
      ["resource": .string(server.name), "baseUrl": .string(server.baseURL.description)])
  }

  /// The settings of all fetches from the resource.
  private var protections: [ExplanationStep] {
    var steps: [ExplanationStep] = []
    if server.access.tls.pins != nil { steps.append(passes("pins", "The server's keys are compared with pins")) }
    if let encryption = server.payloadEncryption {
      steps.append(passes("payloadEncryption", "Bodies are encrypted: \(encryption)"))
    }
    if server.cookies != nil { steps.append(passes("cookies", "Cookies are kept for the caller")) }
    if let advice = server.advice, server.authentication == .user {
      steps.append(passes("advice", "Advice of the server is satisfied, \(advice.rounds) times at most"))
    }
    return steps
  }

  private func tokenSteps() async -> [ExplanationStep] {
    let issuer = server.issuer
    switch server.authentication {
    case .none: return [passes("token", "The request carries no token (auth: none)", ["auth": "none"])]
    case .credential:
      do throws(ResourceError) {
        _ = try await engine.fetcher.tokenPreview(from: server, options: fetch.options)
      } catch {
        return [ExplanationStep("token", rejectedBy: await fetch.fault(error))]
      }
      let form = server.credential.map { "\($0.form)" } ?? ""
      return [
        passes(
          "token", "The request carries the resource's own credential: \(form)",
          ["auth": "credential", "tokenOf": "resource", "form": .string(form)])
      ]
    case .onBehalfOf:
      return [
        ExplanationStep(
          step: "token", verdict: .open,
          summary: "The inbound token is validated when the call is made, and exchanged for a token",
          details: ["auth": "onBehalfOf", "tokenOf": "inboundToken"])
      ]
    case .user, .implicit, .clientCredentials: break
    }
    do throws(ResourceError) {
      guard let preview = try await engine.fetcher.tokenPreview(from: server, options: fetch.options), let issuer else {
        return [passes("token", "The request carries no token")]
      }
      let explanation = TokenExplanation(
        authentication: server.authentication, issuer: issuer, preview: preview, clock: engine.clock, context: context)
      let expired = ResourceError(
        server.authentication == .user ? .notAuthenticated : .notImplicitlyAuthenticated,
        "the session's token has expired, and the session has no refresh token")
      return [explanation.step(await fetch.fault(expired)), binding(issuer)]
    } catch {
      return [ExplanationStep("token", rejectedBy: await fetch.fault(error))]
    }
  }

  private func binding(_ issuer: Issuer) -> ExplanationStep {
    let constraint = server.senderConstraint
    let summary =
      switch constraint {
      case .none: "The resource accepts bearer tokens"
      case .dpop: "The request carries a proof of the token's key (DPoP)"
      case .mtls: "The token is bound to the client's certificate (mTLS)"
      }
    return passes("binding", summary, ["senderConstraint": .string(constraint.rawValue)])
  }

  /// The limits of the URL's origin, and their use.
  private func limits(_ method: HTTPMethod, _ url: HTTPURL) async -> ExplanationStep {
    guard let limits = server.limits else {
      return passes("origin", "The resource has no limits (resources.\(server.name).limits)")
    }
    let state = engine.fetcher.originStates.first { $0.resource == server.name && $0.origin == url.origin }
    var details: [String: JSONValue] = [
      "inFlight": .integer(Int64(state?.inFlight ?? 0)), "waiting": .integer(Int64(state?.waiting ?? 0)),
      "circuit": .string((state?.circuit ?? .closed).rawValue),
    ]
    details["concurrency"] = limits.concurrency.map { .integer(Int64($0)) }
    do throws(ResourceError) {
      let isAdmitted = try engine.fetcher.isAdmitted(url, method: method, from: server, for: context.caller.peerID)
      return ExplanationStep(
        step: "origin", verdict: isAdmitted ? .passes : .open,
        summary: isAdmitted ? "Within the limits of the origin" : "The request would wait for a slot of the origin",
        details: details)
    } catch {
      return ExplanationStep("origin", rejectedBy: await fetch.fault(error), details)
    }
  }

  /// How the request leaves the machine.
  private func ways(_ url: HTTPURL) async -> [ExplanationStep] {
    var steps: [ExplanationStep] = []
    if url.origin.scheme == "http" {
      let rule = server.access.plainHTTP
      let reason =
        rule.allowsLoopback && url.origin.isLoopbackAddress ? "development.plainHTTPOnLoopback" : "outbound.plainHTTP"
      steps.append(passes("plainHTTP", "\(url.origin) may be reached without TLS (\(reason))"))
    }
    var port = url.origin.port
    let proxy = server.access.bypassesProxy ? nil : context.runtime.outboundProxy
    switch proxy?.route(to: url.origin) {
    case nil:
      let reason = server.access.bypassesProxy ? "the resource bypasses the proxy" : "no proxy is configured"
      steps.append(passes("outbound", "Directly: \(reason)", ["route": "direct"]))
    case .direct:
      steps.append(
        passes("outbound", "Directly: a loopback address, or an exception of outbound.proxy", ["route": "direct"]))
    case .proxied:
      port = proxy?.origin.port ?? port
      let address = context.runtime.scope.isEverything ? proxy.map { " at \($0.origin)" } ?? "" : ""
      steps.append(passes("outbound", "Through the outbound proxy\(address)", ["route": "proxy"]))
    case .excluded:
      let error = ResourceError(
        .originNotAllowed,
        "a link-local address, or the name of a metadata service, is never requested from the proxy")
      steps.append(ExplanationStep("outbound", rejectedBy: await fetch.fault(error)))
    }
    guard let ports else { return steps }
    let details: [String: JSONValue] = ["port": .integer(Int64(port))]
    guard UInt16(exactly: port).map(ports.contains) == true else {
      let error = ResourceError(
        .serverUnreachable, "the sandbox allows no connections to port \(port) (hardening.connectPorts)")
      return steps + [ExplanationStep("sandbox", rejectedBy: await fetch.fault(error), details)]
    }
    return steps + [passes("sandbox", "The sandbox allows connections to port \(port)", details)]
  }
}

/// The token of a call, as it is now: whose it is, and how long it can be used. Never the token itself.
struct TokenExplanation {
  let authentication: ResourceServer.Authentication
  let issuer: Issuer
  let preview: ResourceFetcher.TokenPreview
  let clock: any EngineClock
  let context: CallContext

  /// The step; `expired` is the error of a call whose token can no longer be used or refreshed.
  func step(_ expired: RPCFault) -> ExplanationStep {
    var details: [String: JSONValue] = ["auth": .string(authentication.rawValue), "tokenOf": .string(subject)]
    if context.runtime.scope.contains(issuer: issuer.name) { details["issuer"] = .string(issuer.name) }
    // A child may not be allowed to list sessions.
    if context.narrowing == nil { details["session"] = preview.session.map { .string($0.text) } }
    let whose = preview.session == nil ? "The client" : "The session"
    guard let token = preview.token else {
      guard preview.canBeRequested else { return ExplanationStep("token", rejectedBy: expired, details) }
      return ExplanationStep(
        step: "token", verdict: .open, summary: "\(whose) has no such token yet: one is requested first",
        details: details)
    }
    let now = clock.monotonicNow
    details["expiresAt"] = .string(token.expiresAt.rfc3339)
    details["type"] = .string(token.type.rawValue)
    details["wouldBeRefreshed"] = .bool(!token.isFresh(at: now) && preview.canBeRequested)
    if token.isFresh(at: now) {
      let left = token.usableUntil - now
      details["freshForMs"] = .integer(left.wholeMilliseconds)
      return ExplanationStep(
        step: "token", verdict: .passes,
        summary: "\(whose)'s token is used for another \(left.wholeMilliseconds / 1000) s",
        details: details)
    }
    if preview.canBeRequested {
      return ExplanationStep(
        step: "token", verdict: .open, summary: "\(whose)'s token expires soon, or has: it is refreshed first",
        details: details)
    }
    guard token.expiry > now else { return ExplanationStep("token", rejectedBy: expired, details) }
    return ExplanationStep(
      step: "token", verdict: .passes, summary: "\(whose)'s token is used until it expires: it cannot be refreshed",
      details: details)
  }

  private var subject: String {
    switch authentication {
    case .user, .implicit: "session"
    case .clientCredentials: "client"
    case .credential: "resource"
    case .onBehalfOf: "inboundToken"
    case .none: "none"
    }
  }
}
