import SessionRecords

/// Decides how an update of a session continues when its record has changed since it was read or the store fails.
///
/// A record that is gone always ends the update: the session has ended, and an update never brings it back.
enum UpdatePolicy: Sendable {
  /// Writes the outcome of a refresh, over another process's write if need be.
  ///
  /// The issuer may have rotated the refresh token: the outcome is the only copy of the new one. A record that changed
  /// (the lease expired before the issuer answered) is therefore overwritten, unless it has a newer login or another
  /// refresh token: then the other write is the newer one, and the update returns it. When the store is unavailable,
  /// the outcome is kept in memory and written later. The cached session is dropped then: its tokens may have been
  /// replaced.
  case refreshOutcome(under: RecordLease?)

  /// Reads the record again and applies the change to its latest version, up to 16 times.
  ///
  /// For a step-up, which replaces the login and all tokens: it takes precedence over any refresh that was written
  /// meanwhile, but keeps what that has changed elsewhere in the record. The user would have to log in once more: when
  /// the store is unavailable, the change is kept in memory and written later.
  case reapply

  /// Writes only over the version that was read; a changed record is the error `conflict`.
  ///
  /// For the removal of tokens that have been revoked: a changed record has tokens that have not been revoked, so the
  /// caller has to start again from there. When the store is unavailable, nothing is kept: the call fails, and the
  /// session still has its tokens.
  case ifUnchanged

  /// Fills the reservation of a new session, within the uid's allowance.
  ///
  /// No caller knows the handle yet, so nothing but the session itself writes here; a conflict is an error. The grant
  /// has been used: when the store is unavailable, the session is kept in memory and written when it is read. One that
  /// is larger than the allowance is the error `overdrawn`, and not kept.
  case fillReservation(within: RecordAllowance)

  /// How often the change is tried.
  var attempts: Int {
    switch self {
    case .refreshOutcome: .max
    case .reapply: 16
    case .ifUnchanged, .fillReservation: 1
    }
  }

  /// Whether each attempt reads the record, instead of starting from the given one.
  var readsFirst: Bool { if case .reapply = self { true } else { false } }

  /// Whether the outcome is kept in memory when the store is unavailable.
  var keepsUnsaved: Bool { if case .ifUnchanged = self { false } else { true } }

  var lease: RecordLease? { if case .refreshOutcome(let lease) = self { lease } else { nil } }

  var allowance: RecordAllowance { if case .fillReservation(let allowance) = self { allowance } else { .unlimited } }

  var isRefresh: Bool { if case .refreshOutcome = self { true } else { false } }
}
