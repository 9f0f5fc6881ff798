import AuthEngine
import PosternConfiguration

/// Why there is no decision point to ask.
struct DecisionPointAbsence: Error {
  let reason: String
}

extension ConfigurationSnapshot {
  /// The decision point of that name within `scope`; without a name the only one.
  func decisionPoint(_ name: String?, in scope: PeerScope) -> Result<DecisionPoint, DecisionPointAbsence> {
    let configured = configuration.preauthorization.filter { scope.contains(decisionPoint: $0.key) }
    func absent(_ reason: String) -> Result<DecisionPoint, DecisionPointAbsence> {
      .failure(DecisionPointAbsence(reason: reason))
    }
    guard let name = name ?? (configured.count == 1 ? configured.keys.first : nil) else {
      return absent(
        configured.isEmpty ? "no decision point is configured" : "several decision points are configured: say which")
    }
    guard scope.contains(decisionPoint: name), let point = decisionPoints[name] else {
      return absent("no decision point of that name is configured")
    }
    return .success(point)
  }
}
