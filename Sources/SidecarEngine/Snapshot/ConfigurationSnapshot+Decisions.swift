package import AuthEngine
import PosternConfiguration
import PosternSupport
package import SidecarAccess

/// Why there is no decision point to ask.
package struct DecisionPointError: Error {
  package let reason: String
}

extension ConfigurationSnapshot {
  /// The decision point of that name within `scope`; without a name the only one.
  package func decisionPoint(_ name: String?, in scope: PeerScope) -> Result<DecisionPoint, DecisionPointError> {
    let configured = configuration.preauthorization.filter { scope.contains(decisionPoint: $0.key) }
    func absent(_ reason: String) -> Result<DecisionPoint, DecisionPointError> {
      .failure(DecisionPointError(reason: reason))
    }
    guard let name = name ?? (configured.count == 1 ? configured.keys.first : nil) else {
      return absent(
        configured.isEmpty ? "no decision point is configured" : "several decision points are configured: say which")
    }
    guard scope.contains(decisionPoint: name), let point = decisionPoints[name] else {
      return absent(
        Suggestion.appended(
          to: "no decision point of that name is configured", for: name, among: configured.keys))
    }
    return .success(point)
  }
}
