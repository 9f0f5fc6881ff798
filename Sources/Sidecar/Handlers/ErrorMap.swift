import AuthEngine
import HTTPMessages
import PosternConfiguration
import PosternJSON
import PosternJSONRPC
import PosternProtocol
import PosternSupport

/// Maps the engine's errors to errors of the wire: the code is the error's own, and this adds what the wire has beside it.
enum ErrorMap {
  /// The error of a fetch.
  static func fault(_ error: ResourceError) -> RPCFault {
    var fault = RPCFault(
      error.code, error.detail, path: error.path?.jsonPointer, outcome: error.outcome,
      isRetryable: error.retryable, retryAfter: error.retryAfter, upstream: error.upstream)
    // As with every method that has `token_endpoint_error`.
    if error.code == .tokenEndpointError, let upstream = error.upstream, let status = upstream.status {
      fault.details["error"] = upstream.code.map { .string($0) }
      fault.details["errorDescription"] = upstream.description.map { .string($0) }
      fault.details["status"] = .integer(Int64(status))
    }
    if let interaction = error.interaction {
      fault.details["claims"] = interaction.claims.map { .string($0) }
      fault.details["wwwAuthenticate"] = interaction.challenge.map { .string($0) }
    }
    return fault
  }
}

extension ErrorMap {
  /// `fault` without the name, the addresses and the words of an issuer that the caller's rule hides.
  static func withoutIssuer(_ fault: RPCFault) -> RPCFault {
    var hidden = fault.with(message: "no token from the resource's issuer")
    hidden.details["errorDescription"] = nil
    return hidden
  }
}

extension ErrorMap {
  /// A reload's error: the problems as `check-config` prints them, secrets never among them. They name things: a caller
  /// from whom some are hidden is sent to the log.
  static func fault(_ failure: ReloadFailure, for scope: PeerScope) -> RPCFault {
    switch failure {
    case .busy: RPCFault(.overloaded, "Another reload is at work", isRetryable: true, retryAfter: .seconds(1))
    case .problems(let problems):
      RPCFault(
        .configurationInvalid,
        isRetryable: false,
        details: [
          "problems": .array(
            scope.isEverything
              ? problems.problems.map { JSONValue.string($0.description) } : ["the sidecar's log has the problems"])
        ])
    }
  }
}
