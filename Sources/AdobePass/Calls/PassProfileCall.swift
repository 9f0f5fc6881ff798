import Entitlements
import HTTPMessages
import OAuthClient
import PosternJSON
public import PosternSupport
import SessionRecords

/// The logins that a call is about.
public enum PassProfileSelection: Sendable, Hashable {
  /// The login at the remembered MVPD; all where none is remembered.
  case remembered
  /// The login at an MVPD.
  case mvpd(String)
  /// All.
  case all
  /// The login of a code, for which the call waits so long.
  case code(String, wait: Duration)
}

/// Reads the logins of a device, and waits for the login of a code.
struct PassProfileCall {
  let call: PassCall

  func profiles(
    _ selection: PassProfileSelection, _ options: PassOptions
  ) async throws(PassError) -> PassProfiles {
    if options.partner?.samlResponse != nil {
      guard selection == .remembered else {
        throw PassError(PassParameterError(["partner", "samlResponse"], "is sent alone"))
      }
      return try await partnerProfiles(options)
    }
    switch selection {
    case .code(let code, let wait):
      guard (.zero...PassClient.maxWait).contains(wait) else {
        throw PassError(PassParameterError(["waitMs"], "must be from 0 to \(PassClient.maxWait.wholeMillisecondsUp)"))
      }
      return try await PassProfileCall(call: call.lasting(for: wait)).profiles(of: code, wait, options)
    case .all: return try await allProfiles(options)
    case .mvpd(let mvpd):
      try call.valid { () throws(PassParameterError) in
        try PassOptions.checkSegment(mvpd, ["mvpd"], maxBytes: PassCall.maxIdentifierBytes)
      }
      return try await profiles(at: mvpd, options)
    case .remembered:
      // Of both endpoints, so that a call fails in the same way before and after a login.
      if options.tempPassIdentity == nil { _ = try call.exchange(options, for: .profiles) }
      let device = call.provider.settings.device.replaced(by: options.device)
      guard let login = try await call.login(of: device) else { return try await allProfiles(options) }
      return try await profiles(at: login.mvpd, options)
    }
  }

  private func allProfiles(_ options: PassOptions) async throws(PassError) -> PassProfiles {
    let exchange = try call.exchange(options, for: .profiles)
    let request = PassRequest(endpoint: .profiles, method: "GET", segments: ["profiles"])
    let profiles = try Self.profiles(in: try await call.answer(request, exchange), at: call.clock.wallNow)
    if profiles.isEmpty { await dropProfile(of: nil, exchange) }
    return try await kept(profiles, exchange)
  }

  private func profiles(at mvpd: String, _ options: PassOptions) async throws(PassError) -> PassProfiles {
    let exchange = try call.exchange(options, for: .profile)
    let request = PassRequest(endpoint: .profile, method: "GET", segments: ["profiles", mvpd])
    let profiles: [PassProfile]
    do throws(PassError) {
      profiles = try Self.profiles(in: try await call.answer(request, exchange, mvpd: mvpd), at: call.clock.wallNow)
    } catch {
      guard let status = error.usedUp else { throw error }
      return try await usedUp(status, exchange)
    }
    if profiles.isEmpty { await dropProfile(of: mvpd, exchange) }
    return try await kept(profiles, exchange)
  }

  /// Makes a login of a partner's SAML response. One that may have arrived is not sent twice: the login shows it.
  private func partnerProfiles(_ options: PassOptions) async throws(PassError) -> PassProfiles {
    let exchange = try call.exchange(options, for: .partnerProfile)
    guard let partner = options.partner, let response = partner.encodedResponse else {
      throw PassError(PassParameterError(["partner"], "is missing"))
    }
    var request = PassRequest(endpoint: .partnerProfile, method: "POST", segments: ["profiles", "sso", partner.name])
    request.form = [("SAMLResponse", response)]
    do throws(PassError) {
      return try await kept(
        Self.profiles(in: try await call.answer(request, exchange), at: call.clock.wallNow), exchange)
    } catch {
      guard error.kind == .unreachable, error.outcome != .notSent else { throw error }
      var reading = options
      reading.partner?.samlResponse = nil
      guard let profiles = try? await allProfiles(reading), profiles.state == .authenticated else {
        throw .unreachable(error.detail, outcome: .sentNoReply, http: error.upstream?.status)
      }
      return profiles
    }
  }

  /// Drops the profile of `mvpd`, nil for that of any: Adobe has none.
  private func dropProfile(of mvpd: String?, _ exchange: PassExchange) async {
    await call.state.logins.dropProfile(of: mvpd, call.provider.client, exchange.device, over: call.link)
  }

  /// Stores the login to use, and returns it with the others.
  private func kept(
    _ profiles: [PassProfile], _ exchange: PassExchange, isStored: Bool = true
  ) async throws(PassError) -> PassProfiles {
    var login = isStored ? try await call.login(of: exchange.device, .replied) : nil
    let remembered = login.flatMap { login in profiles.first { $0.mvpd.hasSameBytes(as: login.mvpd) } }
    let selected = remembered ?? profiles.max { $0.expiresAt < $1.expiresAt }
    if isStored, let selected, selected.isLasting { login = try await call.keep(selected.mvpd, selected, exchange) }
    return PassProfiles(
      state: profiles.isEmpty ? .unauthenticated : .authenticated, profiles: profiles, selected: selected?.mvpd,
      remembered: login?.remembered, nextPoll: nil, error: nil)
  }

  private func usedUp(_ status: Status, _ exchange: PassExchange) async throws(PassError) -> PassProfiles {
    let login = exchange.options.isSecondScreen ? nil : try await call.login(of: exchange.device)
    return PassProfiles(
      state: .temporaryAccessUsedUp, profiles: [], selected: nil, remembered: login?.remembered, nextPoll: nil,
      error: status)
  }

  /// Reads the profiles that have not ended.
  private static func profiles(in answer: PassAnswer, at now: Timestamp) throws(PassError) -> [PassProfile] {
    try answer.read { (answer) throws(PassError) in try read(answer, at: now) }
  }

  private static func read(_ answer: PassAnswer, at now: Timestamp) throws(PassError) -> [PassProfile] {
    let document = try PassReading(answer.document, "answer")
    guard let map = document["profiles"]?.objectValue else {
      throw .format("the answer has no profiles")
    }
    let serverNow = answer.serverTime
    var profiles: [PassProfile] = []
    for member in map.members {
      let (mvpd, value) = (member.name, member.value)
      let reading = try PassReading(value, "profile")
      try PassReading.checkMVPD(mvpd)
      guard let type = try reading.identifier("type"), let issuer = try reading.identifier("issuer"),
        let end = try reading.time("notAfter")
      else { throw .format("a profile lacks what it must have") }
      let attributes = reading["attributes"] ?? .object(JSONObject())
      guard let attributes = attributes.objectValue else { throw .format("profile.attributes is of the wrong type") }
      guard end > serverNow else { continue }
      profiles.append(
        PassProfile(
          mvpd: mvpd, type: type, issuer: issuer, notBefore: try reading.time("notBefore"), expiresAt: end,
          attributes: attributes, endsAt: now + (end - serverNow)))
    }
    return profiles
  }

  // MARK: polling

  /// Returns the login of a code; while there is none, waits for it.
  private func profiles(
    of code: String, _ wait: Duration, _ options: PassOptions
  ) async throws(PassError) -> PassProfiles {
    try call.valid { () throws(PassParameterError) in try PassSessionCall.check(code) }
    let exchange = try call.exchange(options, for: .profileOfCode)
    let key = PassCodes.Key(call.provider.client, code)
    let until = call.clock.monotonicNow + wait
    var hasAnswer = false
    var failure: PassError?
    while true {
      if let over = try await over(key, exchange) { return over }
      switch await poll(key, exchange) {
      case .profiles(let profiles):
        // A later session of the device has another code: an answer about this one is too late.
        if let over = try await over(key, exchange, endsWithLife: false) { return over }
        guard profiles.isEmpty else { return try await kept(profiles, exchange, isStored: !options.isSecondScreen) }
        hasAnswer = true
      case .failed(let error):
        if Task.isCancelled { throw .ended(.cancelled) }
        if let status = error.usedUp { return try await usedUp(status, exchange) }
        if let over = try await over(key, exchange) { return over }
        guard error.isPassing, !call.hasTimedOut else { throw call.ended(error) }
        failure = error
      }
      let next = try await pause(key, until)
      guard call.clock.monotonicNow >= until || call.hasTimedOut else { continue }
      if let over = try await over(key, exchange) { return over }
      guard !call.hasTimedOut else { throw .ended(.deadlineExceeded) }
      if let failure, !hasAnswer { throw failure }
      return try await waiting(.pending, exchange, nextPoll: max(.zero, next - call.clock.monotonicNow))
    }
  }

  /// Sleeps until the next answer about a code can be had, which it returns, but not longer than `until`, the code's
  /// life, or the call.
  private func pause(_ key: PassCodes.Key, _ until: MonotonicInstant) async throws(PassError) -> MonotonicInstant {
    let now = call.clock.monotonicNow
    let entry = call.state.codes.entry(key, for: call.link.subject.uid)
    // Beyond the bounds an answer may be lost, and with it the time of its request.
    let next = max(entry.last?.next ?? now + call.provider.settings.login.pollInterval, now)
    let end = min(next, until, entry.end, call.link.deadline.instant ?? until)
    if end > now { try await call.state.codes.sleep(for: end - now, about: key, in: call.link.scope) }
    return next
  }

  /// Returns the result about a code that is over; throws for one that Adobe called wrong.
  private func over(
    _ key: PassCodes.Key, _ exchange: PassExchange, endsWithLife: Bool = true
  ) async throws(PassError) -> PassProfiles? {
    let entry = call.state.codes.entry(key, for: call.link.subject.uid)
    if entry.isSuperseded { return try await waiting(.superseded, exchange) }
    if let error = entry.wrong { throw error }
    if endsWithLife, entry.end <= call.clock.monotonicNow { return try await waiting(.expired, exchange) }
    return nil
  }

  private func waiting(
    _ result: PassProfiles.State, _ exchange: PassExchange, nextPoll: Duration? = nil
  ) async throws(PassError) -> PassProfiles {
    let login = exchange.options.isSecondScreen ? nil : try await call.login(of: exchange.device)
    return PassProfiles(
      state: result, profiles: [], selected: nil, remembered: login?.remembered, nextPoll: nextPoll, error: nil)
  }

  /// Returns the answer about a code: the last one within the poll interval, else the next, for all that wait for it.
  /// An error that is another caller's is none.
  private func poll(_ key: PassCodes.Key, _ exchange: PassExchange) async -> PassCodes.Answer {
    while true {
      let isOwn = Locked(false)
      let answer = await nextAnswer(key, exchange, isOwn)
      if answer.isForAll || isOwn.withLock({ $0 }) { return answer }
    }
  }

  /// Returns the last answer, or the next one; `isOwn` is set where that is of this call's caller.
  private func nextAnswer(
    _ key: PassCodes.Key, _ exchange: PassExchange, _ isOwn: Locked<Bool>
  ) async -> PassCodes.Answer {
    let codes = call.state.codes
    let poller = exchange.poller
    let interval = call.provider.settings.login.pollInterval
    let isLimited = call.link.point.settings.rateLimit != nil
    @Sendable func known() -> (answer: PassCodes.Answer, next: MonotonicInstant)? {
      codes.entry(key, for: poller.uid).answer(for: poller, at: call.clock.monotonicNow)
    }
    if let (answer, next) = known() {
      isOwn.withLock { $0 = true }
      guard case .failed(let error) = answer, !isLimited else { return answer }
      return .failed(error.waiting(next - call.clock.monotonicNow))
    }
    let shared = PassExchange(
      provider: call.provider, link: call.link.forSharedRequest(timeout: PassCall.patience, in: call.link.scope),
      options: exchange.options,
      device: exchange.device)
    let scope = call.link.scope.until(Deadline(instant: codes.entry(key, for: poller.uid).end))
    return await codes.whileCurrent(key, in: scope) {
      do throws(PassError) {
        return try await codes.polls.value(for: key, in: scope) { _ async throws(PassError) in
          isOwn.withLock { $0 = true }
          if let known = known() { return known.answer }
          let answer = await Self.poll(key.code, shared)
          codes.note(answer, about: key, after: interval, isLimited: isLimited, of: poller)
          return answer
        }
      } catch {
        // The end of this call's own wait.
        isOwn.withLock { $0 = true }
        return .failed(error)
      }
    }
  }

  private static func poll(_ code: String, _ exchange: PassExchange) async -> PassCodes.Answer {
    let request = PassRequest(endpoint: .profileOfCode, method: "GET", segments: ["profiles", "code", code])
    do throws(PassError) {
      return .profiles(
        try profiles(in: try await exchange.answer(request, isShared: true), at: exchange.link.clock.wallNow))
    } catch {
      return .failed(error)
    }
  }
}

extension PassError {
  /// Adobe's error for a TempPass that is used up; nil for another one.
  var usedUp: Status? {
    status.flatMap {
      $0.code.startsWithBytes(of: "temporary_access_") && $0.code.endsWithBytes(of: "_limit_exceeded") ? $0 : nil
    }
  }

  /// Whether polling goes on after it: the server is busy or out of order, or cannot be reached.
  var isPassing: Bool {
    switch kind {
    case .unreachable: true
    case .rejected:
      status?.code == "too_many_requests" || (upstream?.status ?? 0) >= 500 || (status?.status ?? 0) >= 500
    default: false
    }
  }
}

extension PassProfileSelection: ConciseStringConvertible {
  /// The kind, and the MVPD. A code is secret.
  public var description: String {
    switch self {
    case .remembered: "the stored login"
    case .mvpd(let mvpd): "the login at \(Concise.name(mvpd))"
    case .all: "all logins"
    case .code: "the login of a code"
    }
  }
}
