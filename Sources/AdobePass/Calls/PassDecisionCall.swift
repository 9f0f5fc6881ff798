import Entitlements
import HTTPMessages
import OAuthClient
import PosternJSON
import PosternSupport
import SessionRecords

/// Decides about playing resources.
struct PassDecisionCall {
  let call: PassCall

  func authorize(
    _ resources: [String], _ mvpd: String?, _ options: PassOptions
  ) async throws(PassError) -> PassDecisions {
    let exchange = try call.exchange(options, for: .authorize)
    try call.valid { () throws(PassParameterError) in try Self.check(resources, mvpd) }
    let login = try await call.login(of: exchange.device)
    guard let mvpd = mvpd ?? login?.mvpd ?? call.provider.settings.mvpd else {
      throw PassError(PassParameterError(["mvpd"], "is needed: none is remembered or configured"))
    }
    if let profile = login?.profile, login?.mvpd.hasSameBytes(as: mvpd) == true {
      if profile.hasEnded(at: call.clock.wallNow) {
        call.state.logins.endDecisions(call.provider.client, exchange.device, over: call.link)
        return PassDecisions(mvpd: mvpd, decisions: resources.map { .notPermitted($0, .profileExpired) })
      }
      try partnerCheck(profile, options)
    }
    var distinct: [ResourceName] = []
    for resource in resources.map({ ResourceName($0) }) where !distinct.contains(resource) { distinct.append(resource) }
    let decisions = try await decisions(about: distinct, mvpd, exchange)
    for case let error? in decisions.map(\.error) where !error.isLocal { await call.note(error, mvpd, exchange) }
    return PassDecisions(
      mvpd: mvpd,
      decisions: resources.map { resource in
        decisions.first { $0.id.hasSameBytes(as: resource) } ?? .notPermitted(resource, .formatUnknown("no decision"))
      })
  }

  private static func check(_ resources: [String], _ mvpd: String?) throws(PassParameterError) {
    guard (1...PassClient.maxResources).contains(resources.count) else {
      throw PassParameterError(["resources"], "must be 1 to \(PassClient.maxResources)")
    }
    for (index, resource) in resources.enumerated() {
      try PassOptions.checkText(resource, ["resources", .position(index)], maxBytes: 65_536)
    }
    if let mvpd { try PassOptions.checkSegment(mvpd, ["mvpd"], maxBytes: PassCall.maxIdentifierBytes) }
  }

  /// Throws where a login by a partner needs a status of its framework that the call does not give.
  private func partnerCheck(_ profile: PassLogin.Profile, _ options: PassOptions) throws(PassError) {
    guard profile.type == "appleSSO" else { return }
    guard let partner = options.partner else {
      throw .rejected(
        .own("invalid_header_pfs_permission_access_not_present", "The status of the partner's framework is missing."),
        outcome: .notSent)
    }
    if let end = partner.expiresAt, end <= call.clock.wallNow {
      throw .rejected(
        .own("invalid_header_pfs_provider_info_expired", "The status of the partner's framework has expired."),
        outcome: .notSent)
    }
  }

  /// Returns one decision for each of `resources`: all in one request, and each alone where the MVPD allows one at a
  /// time.
  private func decisions(
    about resources: [ResourceName], _ mvpd: String, _ exchange: PassExchange
  ) async throws(PassError) -> [PassDecision] {
    let decisions: [PassDecision]
    do throws(PassError) {
      decisions = try await requested(resources, mvpd, exchange)
    } catch {
      guard error.status?.code == "too_many_resources", resources.count > 1 else { throw error }
      return try await singly(resources, mvpd, exchange)
    }
    guard resources.count > 1, decisions.allSatisfy({ $0.error?.code == "too_many_resources" }) else {
      return try await repeated(decisions, mvpd, exchange)
    }
    return try await singly(resources, mvpd, exchange)
  }

  /// Requests each decision alone. What one request fails with is the error of its resource; where all fail, of the
  /// call.
  private func singly(
    _ resources: [ResourceName], _ mvpd: String, _ exchange: PassExchange
  ) async throws(PassError) -> [PassDecision] {
    var decisions: [PassDecision] = []
    var failures = 0
    for (index, resource) in resources.enumerated() {
      do throws(PassError) {
        decisions += try await repeated(try await requested([resource], mvpd, exchange), mvpd, exchange)
      } catch {
        failures += 1
        guard error.kind != .cancelled, index + 1 < resources.count || failures < resources.count else { throw error }
        decisions.append(.notPermitted(resource.text, error.status ?? .networkError(error.detail)))
      }
    }
    return decisions
  }

  /// Requests those decisions again that Adobe could not make, and no others.
  private func repeated(
    _ first: [PassDecision], _ mvpd: String, _ exchange: PassExchange
  ) async throws(PassError) -> [PassDecision] {
    var decisions = first
    guard exchange.options.tempPassIdentity == nil else { return decisions }
    var delays = PassExchange.PassDelays()
    for _ in 1..<max(1, call.link.point.settings.attempts) {
      let open = decisions.indices.filter { decisions[$0].error?.isPassing == true }
      guard !open.isEmpty else { break }
      do throws(PassError) {
        try await exchange.pause(for: delays.next(), or: .ended(.deadlineExceeded))
        let answers = try await requested(open.map { ResourceName(decisions[$0].id) }, mvpd, exchange)
        for (index, answer) in zip(open, answers) { decisions[index] = answer }
      } catch {
        guard error.kind != .cancelled else { throw error }
        // The others have been decided, and their media tokens come once.
        break
      }
    }
    return decisions
  }

  private func requested(
    _ resources: [ResourceName], _ mvpd: String, _ exchange: PassExchange
  ) async throws(PassError) -> [PassDecision] {
    var request = PassRequest(endpoint: .authorize, method: "POST", segments: ["decisions", "authorize", mvpd])
    request.json = ["resources": .array(resources.map { .string($0.text) })]
    return try await call.answer(request, exchange, mvpd: mvpd).read { (answer) throws(PassError) in
      try Self.decisions(in: answer, about: resources)
    }
  }

  private static func decisions(
    in answer: PassAnswer, about resources: [ResourceName]
  ) throws(PassError) -> [PassDecision] {
    guard let rows = answer.document["decisions"]?.arrayValue else {
      throw .format("the answer has no decisions")
    }
    // An answer that is an error, too, is no permit.
    guard EnhancedError.read(in: answer.document, status: 0) == nil else {
      throw .format("the answer has decisions and an error", http: answer.status, trace: answer.trace)
    }
    let matches: [[JSONValue]]
    do throws(DecisionFault) {
      matches = try AdobePassReply.matches(rows, resources, trace: answer.trace)
    } catch {
      throw .rejected(error.status)
    }
    return zip(resources, matches).map { resource, rows in
      let decisions = rows.map { row in
        do throws(PassError) {
          return try PassDecision(
            PassReading(row, "decision"), about: resource.text, at: answer.serverTime, trace: answer.trace)
        } catch {
          return .notPermitted(resource.text, error.status ?? .formatUnknown(error.detail, trace: answer.trace))
        }
      }
      guard let first = decisions.first else {
        return .notPermitted(resource.text, .formatUnknown("the answer has no decision about it", trace: answer.trace))
      }
      guard decisions.allSatisfy({ $0.isAuthorized == first.isAuthorized }) else {
        return .notPermitted(resource.text, .formatUnknown("there are contradictory decisions", trace: answer.trace))
      }
      return first
    }
  }
}

extension PassDecision {
  private static let maxTokenBytes = 256 << 10

  /// Reads a row: a permit is one only with a media token that lives.
  fileprivate init(
    _ reading: PassReading, about resource: String, at now: Timestamp, trace: String?
  ) throws(PassError) {
    guard let isAuthorized = reading["authorized"]?.boolValue else {
      throw .format("a decision is neither true nor false", trace: trace)
    }
    let source = try reading.text("source")
    let error = reading["error"].flatMap { EnhancedError.read($0, status: 0, trace: trace) }
    guard isAuthorized else {
      guard reading["error"] == nil || error != nil else { throw .format("the error of a decision has no code") }
      self.init(
        id: resource, token: nil, source: source, notBefore: try reading.time("notBefore"),
        expiresAt: try reading.time("notAfter"), error: error ?? .denied(trace: trace))
      return
    }
    guard reading["error"] == nil else { throw .format("a permit has an error", trace: trace) }
    guard let token = try reading.object("token"),
      let serialized = try token.identifier("serializedToken", maxBytes: Self.maxTokenBytes),
      let end = try token.time("notAfter")
    else { throw .format("a permit has no media token", trace: trace) }
    guard end > now else { throw .format("the media token of a permit has ended", trace: trace) }
    self.init(
      id: resource,
      token: MediaToken(serialized: Secret(serialized), notBefore: try token.time("notBefore"), expiresAt: end),
      source: source, notBefore: try reading.time("notBefore"), expiresAt: try reading.time("notAfter"), error: nil)
  }
}

extension Status {
  /// The sidecar's own finding, in Adobe's words.
  static func own(_ code: String, _ message: String) -> Status {
    Status(status: 0, code: code, action: EnhancedErrorTable[code]?.action ?? "none", message: message)
  }

  /// A login that has ended by the time that Adobe gave it.
  static let profileExpired = own(
    "authenticated_profile_expired", "The login has expired. The user has to log in again.")

  /// Whether it is one of the errors after which a decision is requested again.
  fileprivate var isPassing: Bool {
    ["network_received_error", "network_connection_timeout", "maximum_execution_time_exceeded"].contains(code)
  }
}
