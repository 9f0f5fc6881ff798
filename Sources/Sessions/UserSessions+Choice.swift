import PosternSupport

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

/// Readings of one owner's sessions for a choice. What another owner does makes none of them useless.
struct ChoiceReadings: Sendable {
  var underWay = 0
  /// Counts whatever may make such a choice wrong.
  var changes: UInt64 = 0
}

extension UserSessions {
  /// Which session of `owner` is meant at `issuer`. Remembered until a session of that owner begins or ends; for a
  /// moment only where others share the store.
  public func choice(
    of kind: SessionKind, at issuer: String, ownedBy owner: UInt32
  ) async throws(SessionError) -> SessionChoice {
    let name = OwnedChoices.Name(kind: kind, issuer: issuer)
    let now = clock.monotonicNow
    if let known = state.withLock({ $0.choices[owner]?.answers[name] }),
      known.until.map({ $0 > clock.wallNow }) ?? true,
      !isShared || now - known.readAt < Self.sharedCacheLife
    {
      return known.choice
    }
    let changes = state.withLock { state in
      state.readings[owner, default: ChoiceReadings()].underWay += 1
      return state.readings[owner]?.changes
    }
    defer { endReading(of: owner) }
    // One that has expired stands behind the login that followed it.
    var live: [Session] = []
    var last: Session?
    try await forEachSession(ownedBy: owner) { session, _ in
      guard session.kind == kind, session.issuer == issuer else { return true }
      last = session
      if session.expiresAt.map({ $0 > clock.wallNow }) ?? true { live.append(session) }
      return live.count < 2
    }
    let choice: SessionChoice = live.count > 1 ? .several : (live.first ?? last).map { .one($0.handle) } ?? .none
    let answer = OwnedChoices.Answer(choice: choice, until: live.compactMap(\.expiresAt).min(), readAt: now)
    state.withLock { state in
      // What began or ended while the sessions were read may be in the answer or not.
      guard state.readings[owner]?.changes == changes else { return }
      var choices = state.choices[owner] ?? OwnedChoices()
      choices.answers[name] = answer
      state.choices[owner] = choices
    }
    return choice
  }

  /// A session of `owner` began, ended or will.
  func forgetChoices(of owner: UInt32) {
    state.withLock { state in
      state.readings[owner]?.changes += 1
      state.choices[owner] = nil
    }
  }

  private func endReading(of owner: UInt32) {
    state.withLock { state in
      state.readings[owner]?.underWay -= 1
      if state.readings[owner]?.underWay == 0 { state.readings[owner] = nil }
    }
  }
}
