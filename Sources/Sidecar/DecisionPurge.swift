import AuthEngine

/// Forgets a session's decisions when it ends or its user has authenticated anew, and passes on what happens.
struct DecisionPurge: SessionObserver {
  let preauthorizer: Preauthorizer
  let next: any SessionObserver

  func observe(_ event: SessionEvent) {
    switch event {
    case .ended(let handle, _, let owner), .steppedUp(let handle, let owner):
      _ = preauthorizer.forget(DecisionSelection(owner: owner, session: handle))
    default: break
    }
    next.observe(event)
  }
}
