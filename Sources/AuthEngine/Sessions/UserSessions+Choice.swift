import Support

/// The session that is meant when a call names none.
public enum SessionChoice: Sendable, Equatable {
  /// There is none.
  case none
  /// The only one that has not expired, or the last one that has.
  case one(SessionHandle)
  /// The call has to say which.
  case several
}

/// What is remembered of one owner's choices.
struct OwnedChoices: Sendable {
  struct Name: Sendable, Hashable {
    let kind: SessionKind
    let issuer: String
  }

  struct Answer: Sendable {
    let choice: SessionChoice
    /// When a session expires that counts.
    let until: Timestamp?
    let readAt: MonotonicInstant
  }

  var answers: [Name: Answer] = [:]
}

extension UserSessions {
  /// Which session of `owner` is meant at `issuer`. Remembered until a session of that owner begins or ends; for a moment only where
  /// others share the store.
  public func choice(
    of kind: SessionKind, at issuer: String, ownedBy owner: UInt32
  ) async throws(SessionError) -> SessionChoice {
    let name = OwnedChoices.Name(kind: kind, issuer: issuer)
    let now = clock.monotonicNow
    let (known, changes) = state.withLock { ($0.choices[owner]?.answers[name], $0.changes) }
    if let known, known.until.map({ $0 > clock.wallNow }) ?? true,
      !isShared || now - known.readAt < Self.sharedCacheLife
    {
      return known.choice
    }
    let fitting = try await sessions(ownedBy: owner).filter { $0.kind == kind && $0.issuer == issuer }
    // One that has expired stands behind the login that followed it.
    let live = fitting.filter { $0.expiresAt.map { $0 > clock.wallNow } ?? true }
    let choice: SessionChoice =
      live.count > 1 ? .several : (live.first ?? fitting.last).map { .one($0.handle) } ?? .none
    let answer = OwnedChoices.Answer(choice: choice, until: live.compactMap(\.expiresAt).min(), readAt: now)
    state.withLock { state in
      // What began or ended while the sessions were read may be in the answer or not.
      guard state.changes == changes else { return }
      var choices = state.choices[owner] ?? OwnedChoices()
      choices.answers[name] = answer
      state.choices[owner] = choices
    }
    return choice
  }

  /// A session of `owner` began, ended or will.
  func forgetChoices(of owner: UInt32) {
    state.withLock { state in
      state.changes += 1
      state.choices[owner] = nil
    }
  }
}
