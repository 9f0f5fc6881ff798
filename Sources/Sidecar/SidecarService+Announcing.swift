import PosternJSON
import PosternProtocol
import PosternSupport

extension SidecarService {
  /// Tells subscribers when the whole is not what they were told last; nothing while it is about to be known, and what
  /// changes very often once a second.
  func publishHealthChange() {
    let wait = announcements.update {
      guard health.isSettled else { return nil }
      // The whole is followed also while nobody is subscribed: who subscribes later hears of changes from then on.
      let scopes = hub.scopes(of: .healthChanged).union([.everything])
      return Dictionary(uniqueKeysWithValues: scopes.map { ($0, healthReport(for: $0).status) })
    } tell: { scope, status in
      hub.publish(.healthChanged, ["status": .string(status.rawValue)]) { $0 == scope }
    }
    later(wait) { service in
      service.announcements.goOn()
      service.publishHealthChange()
    }
  }

  /// Tells subscribers that the configuration was reloaded, and of very many reloads once a second: any caller whose
  /// rule allows `reloadConfig` can have everybody told.
  func publishReload(_ changed: [String]) {
    reloadAnnouncements.add(changed)
    publishReloads()
  }

  private func publishReloads() {
    let wait = reloadAnnouncements.update { changed in
      hub.publish(.configReloaded, ["changed": .array(changed.map(JSONValue.string))])
    }
    later(wait) { service in
      service.reloadAnnouncements.goOn()
      service.publishReloads()
    }
  }

  /// Runs `body` after `wait`, if it is given.
  private func later(_ wait: Duration?, _ body: @escaping @Sendable (SidecarService) -> Void) {
    guard let wait else { return }
    Task { [weak self, clock] in
      try? await clock.sleep(for: wait)
      if let self { body(self) }
    }
  }
}
