import OAuthClient

extension DecisionCounts {
  /// Codes of the sidecar's whose details quote no server.
  private static let plainCodes: Set<String> = [
    "network_error", "requestor_not_configured", "server_response_format_unknown",
  ]

  init(_ response: PreauthorizeResponse, at point: DecisionPoint) {
    var (permits, denies, faults, local, degraded) = (0, 0, 0, 0, 0)
    for decision in response.decisions {
      if decision.source == .local { local += 1 }
      if decision.source == .degradation { degraded += 1 }
      if decision.isAuthorized {
        permits += 1
      } else if decision.error.map({ $0.isLocal || EnhancedError.isFault($0) }) == true {
        faults += 1
      } else {
        denies += 1
      }
    }
    self.init(
      permits: permits, denies: denies, faults: faults, local: local, degraded: degraded,
      trouble: response.status.map(Self.trouble), cause: response.status.flatMap { $0.isLocal ? $0.details : nil })
  }

  /// What of `status` anybody may see: what the decision point says was said to one user, about that user.
  private static func trouble(_ status: Status) -> String {
    guard !status.isLocal else {
      return "\(status.code): \((plainCodes.contains(status.code) ? status.details : nil) ?? status.message)"
    }
    let code = EnhancedErrorTable[status.code] == nil ? "an error with a code of its own" : status.code
    return "\(code), status \(status.status)"
  }
}
