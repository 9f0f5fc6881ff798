import Logging
import PosternJSON
import PosternJSONRPC
import PosternProtocol
import PosternSupport

/// Carries out the calls of one connection: authorisation, `meta`, the method, the deadline, metrics and the log.
final class ConnectionDispatcher: CallDispatcher {
  let caller: Caller
  let service: SidecarService
  private let methods: MethodTable

  init(caller: Caller, service: SidecarService) {
    self.caller = caller
    self.service = service
    methods = service.methods
  }

  func dispatch(_ call: Call) -> Dispatch {
    let start = service.clock.monotonicNow
    let runtime = service.runtime
    let rule = runtime.access.rule(for: caller.peer)
    // Before anything else: what is refused in the end counts as much.
    if let rule, let wait = service.ledger.admit(rule, uid: caller.peer.uid, isProbe: Self.probes.contains(call.method))
    {
      service.metrics.callRefused(PeerRateLimiter.Refusal.rate.rawValue)
      let fault = Self.overloaded("Too many calls of this user in a short time", retryAfter: wait)
      return answered(call, methods[call.method] == nil ? "unknown" : call.method, start, .failure(fault))
    }
    guard let handler = methods[call.method] else {
      return answered(
        call, "unknown", start,
        .failure(RPCFault(.methodNotFound, data: ["method": .string(Self.shortened(call.method))])))
    }
    guard let rule, rule.allows(method: call.method) else { return forbidden(call, start) }
    guard !call.isUnread else {
      return answered(
        call, call.method, start,
        .failure(Self.overloaded("Too many calls of this user at one time", retryAfter: Self.pause)))
    }
    let meta: CallMeta
    let params: JSONValue?
    do {
      (meta, params) = try Self.splitMeta(call.params)
    } catch {
      return answered(call, call.method, start, .failure(error))
    }
    switch handler {
    case .immediate(let body):
      let context = context(call, meta, runtime, rule, trace: CallTrace.none)
      do {
        return answered(call, call.method, start, .success(try body(params, context)))
      } catch {
        return answered(call, call.method, start, .failure(error))
      }
    case .waiting(let body):
      // A probe every few seconds is no story worth telling a collector.
      let isProbe = Self.probes.contains(call.method)
      var context = context(
        call, meta, runtime, rule, trace: isProbe ? .none : service.trace(continuing: meta.traceparent))
      // Not the call itself: it would keep the params until its end.
      let (name, byteCount) = (call.method, call.byteCount)
      context.tracer = service.tracer(of: context.trace, since: start)
      context.audit = service.trail?.entry(for: name, params)
      let params = TakenOnce(params)
      let pass = beginFree(name)
      let place: PeerRateLimiter.Place?
      switch pass != nil ? .success(nil) : service.ledger.begin(rule, uid: caller.peer.uid) {
      case .success(let given): place = given
      case .failure(let reached):
        service.metrics.callRefused(PeerRateLimiter.Refusal.concurrency.rawValue)
        var fault = Self.overloaded("Too many calls of this user under way", retryAfter: Self.pause)
        fault.data["limit"] = .integer(Int64(reached.limit))
        return answered(call, name, start, .failure(fault))
      }
      return .work { [self, context] in
        let outcome = await Requesting.$uid.withValue(caller.peer.uid) {
          await Requesting.$executor.withValue(caller.executor(in: service.background)) {
            await recorded(name, context) {
              await self.inTurn(context, isFree: pass != nil) {
                await self.bounded(context) { () throws(RPCFault) in try await body(params, context) }
              }
            }
          }
        }
        service.ledger.end(place)
        endFree(pass)
        context.tracer?.callEnded(name, outcome, caller, context.trace)
        // To measure a result it is written.
        return await service.pool.run(for: caller, if: service.logsAccess && outcome.isLong) { [self] in
          note(name, name, start, outcome, context.trace, byteCount)
        }
      }
    }
  }

  /// What `peers` does not allow, on record where there is one.
  private func forbidden(_ call: Call, _ start: MonotonicInstant) -> Dispatch {
    let outcome = Result<RPCResult, RPCFault>.failure(RPCFault(.peerForbidden))
    guard let trail = service.trail else { return answered(call, call.method, start, outcome) }
    let (name, byteCount) = (call.method, call.byteCount)
    return .work { [self] in
      await trail.refused(name, caller)
      return note(name, name, start, outcome, .none, byteCount)
    }
  }

  /// Runs `body`, and records how it ended where that is to be recorded.
  private func recorded(
    _ name: String, _ context: CallContext, _ body: () async -> Result<RPCResult, RPCFault>
  ) async -> Result<RPCResult, RPCFault> {
    guard let trail = service.trail, let entry = context.audit else { return await body() }
    guard trail.isUsable else { return .failure(AuditTrail.refusal) }
    let outcome = await body()
    return await trail.record(
      entry, name, outcome, isHidden: entry.names(outside: context.runtime.scope), caller, context.trace)
  }

  private func context(
    _ call: Call, _ meta: CallMeta, _ runtime: ConfigurationSnapshot, _ rule: AccessRules.Rule, trace: CallTrace
  ) -> CallContext {
    let deadline = meta.timeoutMs.map { Deadline(in: .milliseconds($0), on: service.clock) } ?? .never
    return CallContext(
      key: call.key, caller: caller, runtime: VisibleConfiguration(runtime, scope: rule.scope), deadline: deadline,
      trace: trace)
  }

  /// Takes `meta` out of the params, so that methods see only what is theirs.
  private static func splitMeta(_ params: JSONValue?) throws(RPCFault) -> (CallMeta, JSONValue?) {
    guard case .object(var object)? = params, let meta = object["meta"] else { return (CallMeta(), params) }
    object["meta"] = nil
    guard meta != .null else { return (CallMeta(), .object(object)) }
    do throws(JSONDecodingError) {
      let meta = try JSONValueDecoder().decode(CallMeta.self, from: meta)
      if let timeout = meta.timeoutMs, timeout < 1 {
        throw JSONDecodingError(path: "/timeoutMs", problem: .invalid("must be at least 1"))
      }
      return (meta, .object(object))
    } catch {
      throw RPCFault(JSONDecodingError(path: "/meta" + error.path, problem: error.problem))
    }
  }

  /// What a caller wrote, in a length for logs and answers; counted in bytes, a single character may have millions.
  private static func shortened(_ text: String) -> String { String(decoding: text.utf8.prefix(64), as: UTF8.self) }

  /// What a method gets on top of the deadline to end by itself: it knows whether the request may have had an effect.
  private static let grace = Duration.milliseconds(100)

  /// Runs `body`, which knows its deadline; when it has not ended a little after that it is cancelled and the answer is
  /// `deadline_exceeded`.
  private func bounded(
    _ context: CallContext, _ body: @escaping @Sendable () async throws(RPCFault) -> RPCResult
  ) async -> Result<RPCResult, RPCFault> {
    guard let remaining = context.deadline.remaining(on: service.clock) else { return await Self.outcome(body) }
    let clock = service.clock
    return await withTaskGroup(of: Result<RPCResult, RPCFault>?.self) { group in
      group.addTask { await Self.outcome(body) }
      group.addTask {
        do {
          try await clock.sleep(for: remaining + Self.grace)
          return .failure(RPCFault(.deadlineExceeded))
        } catch {
          return nil
        }
      }
      defer { group.cancelAll() }
      while let first = await group.next() {
        if let first { return first }
      }
      return .failure(RPCFault(.requestCancelled))
    }
  }

  private static func outcome(
    _ body: @Sendable () async throws(RPCFault) -> RPCResult
  ) async -> Result<RPCResult, RPCFault> {
    do {
      return .success(try await body())
    } catch {
      return .failure(error)
    }
  }

  private func answered(
    _ call: Call, _ method: String, _ start: MonotonicInstant, _ outcome: Result<RPCResult, RPCFault>
  ) -> Dispatch {
    .answered(note(call.method, method, start, outcome, .none, call.byteCount))
  }

  /// Counts the end of a call under `method`, logs it under the name it was `called` by, and adds the trace id to a
  /// fault.
  private func note(
    _ called: String, _ method: String, _ start: MonotonicInstant, _ outcome: Result<RPCResult, RPCFault>,
    _ trace: CallTrace, _ byteCount: Int
  ) -> Result<RPCResult, RPCFault> {
    let duration = service.clock.monotonicNow - start
    var outcome = outcome
    var reason = "result"
    if case .failure(var fault) = outcome {
      reason = fault.code.reason
      if !trace.traceID.isEmpty { fault.data["traceId"] = .string(trace.traceID) }
      outcome = .failure(fault)
    }
    service.metrics.callEnded(method, reason, after: duration)
    service.surroundings.onCallEnd(byteCount)
    let level: Logger.Level = reason == RPCErrorCode.internalError.reason ? .error : service.logsAccess ? .info : .debug
    guard service.logger.logLevel <= level else { return outcome }
    var line = AccessLine(Self.shortened(called), reason, duration, trace, caller)
    if service.logsAccess { outcome = line.measure(outcome, received: byteCount) }
    service.logger.log(level: level, "call ended", metadata: line.metadata)
    return outcome
  }
}

extension Result<RPCResult, RPCFault> {
  /// Whether to write it takes long.
  fileprivate var isLong: Bool {
    guard case .success(.value(let value)) = self else { return false }
    return value.weight(upTo: JSONRPCConnection.longText) >= JSONRPCConnection.longText
  }
}
