import Logging
package import PosternJSON
package import PosternJSONRPC
import PosternObservability
package import PosternSupport

// Calls that come in no message of a JSON-RPC connection: requests of programs that speak HTTP.
extension SidecarService {
  /// Numbers from here on are those of the gateway's connections.
  private static let firstForwarding: UInt64 = 1 << 48

  /// The gateway's connection of that number, as calls see it; `narrowing` is that of the endpoint that it is at.
  package func forwardingConnection(
    _ number: UInt64, of peer: Peer, _ narrowing: Narrowing? = nil, on poster: (any WorkPoster)? = nil
  ) -> PeerConnection {
    PeerConnection(
      connection: Self.firstForwarding &+ number, peer: peer, openedAt: calls.clock.monotonicNow, narrowing: narrowing,
      poster: poster, stays: false)
  }

  /// The conversation of one message of JSON-RPC that came over HTTP: it ends when the message is answered.
  package func conversation(of caller: PeerConnection, _ output: JSONRPCConnection.Output) -> JSONRPCConnection {
    var output = output
    output.longWork = { [pool = lifetime.pool] in caller.executor(in: pool) }
    let conversation = JSONRPCConnection(
      limits: snapshot.limits, dispatcher: CallChain(caller: caller, environment: calls), output: output)
    if lifetime.isDraining { conversation.drain() }
    return conversation
  }

  /// Counts a connection that speaks HTTP: at the endpoint of `narrowing`, and on the socket of JSON-RPC.
  package func httpConnectionOpens(at narrowing: Narrowing?, isOnRPCSocket: Bool) {
    hub.httpConnections.withLock { $0.change(by: 1, at: narrowing?.endpoint, isOnRPCSocket) }
  }

  /// Such a connection is closed.
  package func httpConnectionCloses(at narrowing: Narrowing?, isOnRPCSocket: Bool) {
    hub.httpConnections.withLock { $0.change(by: -1, at: narrowing?.endpoint, isOnRPCSocket) }
  }

  /// Counts a request over HTTP from its begin to its end, as a connection is counted: the process ends after it.
  package func counted<Value>(_ body: () async -> Value) async -> Value { await hub.counted(body) }

  /// Counts and logs a request of a program, or its connection, that the gateway's listener rejected, and returns the id
  /// of its trace: the one of `traceparent`, if that is valid, else a new one.
  package func forwardingRejected(
    status: Int, reason: String, detail: String, of uid: UInt32?, continuing traceparent: String?
  ) -> String {
    let trace = CallTrace(continuing: traceparent)
    calls.log.metrics.connectionRejected(reason)
    callersLog.log(
      .notice, "gateway: a request was rejected", of: uid ?? PeerID.ownUID,
      .of([
        .status: .stringConvertible(status), .reason: .string(reason), .error: .string(detail),
        .uid: .string(uid.map { "\($0)" } ?? "loopback"), .traceId: .string(trace.traceID),
      ]))
    return trace.traceID
  }

  /// Begins a fetch of a resource for `program`, with all rules, limits and records of `fetchResource`. Where that ends
  /// without an error the program has the response.
  package func begin(
    _ fetch: ForwardedFetch, for program: any ForwardingProgram, by caller: PeerConnection
  ) -> Dispatch {
    let handler = lifetime.fetches
    return dispatch(
      fetch.call, by: caller,
      CallChain.Replacement(
        body: { (_, context) async throws(RPCFault) in
          try await handler.carryOut(fetch, for: program, context)
          return .value(.null)
        },
        attempt: { (_, context) throws(RPCFault) in try handler.begin(fetch, for: program, context) },
        preview: { (_, context) async throws(RPCFault) in try await handler.preview(fetch, context) }))
  }

  /// Where work for `caller` is done, on `bytes` and more on threads that all users share fairly.
  package func longWork(from bytes: Int, for caller: PeerConnection) -> LongWork {
    LongWork(from: bytes) { [pool = lifetime.pool] in caller.executor(in: pool) }
  }

  /// The configuration in force.
  package var snapshot: ConfigurationSnapshot { running.current }

  /// Carries out a call of a method, with all its rules, limits and records. `fault` ends it instead of its handler.
  package func call(
    _ method: String, _ params: JSONValue?, endingWith fault: RPCFault? = nil, by caller: PeerConnection
  ) async -> Result<RPCResult, RPCFault> {
    var ending: CallChain.Replacement?
    if let fault {
      ending = CallChain.Replacement { [callersLog] (_, context) async throws(RPCFault) in
        callersLog.of(context.scope).log(
          .notice, "forwarded request rejected", .of([.reason: .string(fault.message)]))
        throw fault
      }
    }
    return await dispatch(
      Call(key: 0, id: nil, method: method, params: params.map(JSONTree.init)), by: caller, ending
    ).outcome()
  }

  private func dispatch(
    _ call: Call, by caller: PeerConnection, _ replacement: CallChain.Replacement?
  ) -> Dispatch {
    guard !lifetime.isDraining else {
      return .answered(.failure(RPCFault(.shuttingDown, outcome: .notSent, isRetryable: true)))
    }
    switch CallChain(caller: caller, environment: calls).dispatch(call, by: replacement) {
    case .answered(let outcome): return .answered(outcome)
    case .work(let work): return .work { [hub] in await hub.counted(work) }
    case .begun(let call): return .begun(OtherCall(call, in: hub))
    }
  }
}

/// A call without a task that came in no message of a connection: counted while it runs.
private final class OtherCall: BegunCall {
  private let call: any BegunCall
  private let hub: EventHub

  init(_ call: any BegunCall, in hub: EventHub) {
    self.call = call
    self.hub = hub
  }

  func run(_ end: @escaping @Sendable (Result<RPCResult, RPCFault>) -> Void) {
    hub.otherCallBegins()
    call.run { [hub] outcome in
      hub.otherCallEnds()
      end(outcome)
    }
  }

  func cancel() { call.cancel() }
}
