import AuthEngine

/// Removes a session's decisions when it ends or its user has authenticated again, and passes the events on.
struct DecisionPurge: SessionObserver {
  let preauthorizer: Preauthorizer
  let next: any SessionObserver

  func observe(_ event: SessionEvent) {
    switch event {
    case .ended(let handle, _, let uid), .steppedUp(let handle, let uid):
      _ = preauthorizer.forget(DecisionSelection(uid: uid, session: handle))
    case .refreshed, .expiring, .refreshFailed, .idTokenRejected, .troubled: break
    }
    next.observe(event)
  }
}
