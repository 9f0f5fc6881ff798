package import PosternJSON
package import PosternJSONRPC
import PosternSupport
package import SidecarAccess
import SidecarCalls

// Calls that come in no message of a JSON-RPC connection: requests of programs that speak HTTP.
extension SidecarService {
  /// Numbers from here on are those of the gateway's connections.
  private static let firstForwarding: UInt64 = 1 << 48

  /// The gateway's connection of that number, as calls see it.
  package func forwardingConnection(_ number: UInt64, of peer: Peer) -> PeerConnection {
    PeerConnection(
      connection: Self.firstForwarding &+ number, peer: peer, openedAt: calls.clock.monotonicNow)
  }

  /// Fetches a resource for `program`, with all rules, limits and records of `fetchResource`. When it returns without an
  /// error the program has the whole response.
  package func fetch(
    _ fetch: ForwardedFetch, for program: any ForwardingProgram, by caller: PeerConnection
  ) async -> Result<Void, RPCFault> {
    await carryOut(fetch.call, by: caller) { [handler = lifetime.fetches] (_, context) async throws(RPCFault) in
      try await handler.carryOut(fetch, for: program, context)
      return .value(.null)
    }.map { _ in }
  }

  /// Carries out a call of a method, with all its rules, limits and records.
  package func call(
    _ method: String, _ params: JSONValue?, by caller: PeerConnection
  ) async -> Result<RPCResult, RPCFault> {
    await carryOut(Call(key: 0, id: nil, method: method, params: params), by: caller)
  }

  private func carryOut(
    _ call: Call, by caller: PeerConnection, _ body: MethodTable.WaitingHandler? = nil
  ) async -> Result<RPCResult, RPCFault> {
    guard !lifetime.isDraining else {
      return .failure(RPCFault(.shuttingDown, data: ["retryable": true, "outcome": "not_sent"]))
    }
    return await CallChain(caller: caller, environment: calls).carryOut(call, by: body)
  }
}
