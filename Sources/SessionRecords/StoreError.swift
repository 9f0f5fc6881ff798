public import PosternSupport

/// The reason why a store's operation failed.
public struct StoreError: Error, Sendable, Equatable {
  /// The kinds of fault.
  public enum Kind: String, Sendable, Hashable, CaseIterable {
    /// Temporarily unavailable: disk full, server unreachable, too many operations, closed.
    case unavailable
    /// Stored data is damaged or was changed by another program.
    case corrupted
    /// Another version than the expected one: another writer was first.
    case conflict
    /// Another process has got the lease since.
    case leaseLost
    /// Another process has the store.
    case locked
    /// The store was written with another key.
    case keyMismatch
    /// The store cannot be used as it is: permissions, a newer format, no key. An operator has to act.
    case unusable
    /// The record's uid has used up the call's `RecordAllowance`.
    case overdrawn
    /// The caller's record cannot be stored.
    case invalid
  }

  /// The kind of fault.
  public let kind: Kind
  /// For people and logs: may name a file, a server or the first digits of a record's identifier, never contents or
  /// keys.
  public let detail: String
  /// Whether there were only too many operations at a time, and the store itself is not at fault.
  public let isOverload: Bool

  /// An error of the given parts.
  public init(_ kind: Kind, _ detail: String, isOverload: Bool = false) {
    self.kind = kind
    self.detail = detail
    self.isOverload = isOverload
  }

  /// Whether the same call may succeed later.
  public var isRetryable: Bool { kind == .unavailable || kind == .locked }

  /// The delay before a retry, where it is known: a process that stops leaves the store to the next one.
  public var retryAfter: Duration? { kind == .locked ? .seconds(1) : nil }

  /// Whether the store itself cannot be used, and not only this record or this call.
  public var isOutage: Bool {
    switch kind {
    case .unavailable: !isOverload
    case .locked, .keyMismatch, .unusable: true
    case .corrupted, .conflict, .leaseLost, .overdrawn, .invalid: false
    }
  }
}

extension StoreError: ConciseStringConvertible {
  /// `kind: detail`.
  public var description: String { "\(kind.rawValue): \(detail)" }
}
