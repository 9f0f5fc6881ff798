import AuthEngine

/// Forgets a session's decisions with the session, and passes on what happens.
struct DecisionPurge: SessionObserver {
  let preauthorizer: Preauthorizer
  let next: any SessionObserver

  func observe(_ event: SessionEvent) {
    if case .ended(let handle, _, let owner) = event {
      _ = preauthorizer.forget(DecisionSelection(owner: owner, session: handle))
    }
    next.observe(event)
  }
}
