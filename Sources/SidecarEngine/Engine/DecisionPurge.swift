import AuthEngine

/// Removes a session's decisions when it ends or its user has authenticated again, and passes the events on.
struct DecisionPurge: SessionObserver {
  let preauthorizer: Preauthorizer
  let next: any SessionObserver

  func observe(_ event: SessionEvent) {
    switch event {
    case .ended(let handle, _, let owner), .steppedUp(let handle, let owner):
      _ = preauthorizer.forget(DecisionSelection(uid: owner, session: handle))
    case .refreshed, .expiring, .renewalFailed, .idTokenRefused, .troubled: break
    }
    next.observe(event)
  }
}
