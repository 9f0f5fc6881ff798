import JSON
import Protocol
import Support

extension SidecarService {
  /// Tells subscribers when the whole is not what they were told last; nothing while it is about to be known, and what changes very often
  /// once a second.
  func publishHealthChange() {
    let wait = announcements.update {
      guard health.isSettled else { return nil }
      // The whole is followed also while nobody is subscribed: who subscribes later hears of changes from then on.
      let scopes = hub.scopes(of: .healthChanged).union([.everything])
      return Dictionary(uniqueKeysWithValues: scopes.map { ($0, healthReport(for: $0).status) })
    } tell: { scope, status in
      hub.publish(.healthChanged, ["status": .string(status.rawValue)]) { $0 == scope }
    }
    guard let wait else { return }
    Task { [weak self, clock] in
      try? await clock.sleep(for: wait)
      self?.announcements.goOn()
      self?.publishHealthChange()
    }
  }
}
