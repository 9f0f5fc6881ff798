/// Why a store could not do something.
public struct StoreError: Error, Sendable, Equatable {
  /// The kinds of fault.
  public enum Kind: String, Sendable, Hashable, CaseIterable {
    /// Not now: disk full, server unreachable, too much under way, closed.
    case unavailable
    /// Stored data is damaged or was changed by somebody else.
    case corrupted
    /// Not the version that was expected: somebody else wrote first.
    case conflict
    /// Somebody else has been given the lease since.
    case leaseLost
    /// Another process has the store.
    case locked
    /// The store was written with another key.
    case keyMismatch
    /// The store cannot be used as it is: permissions, a newer format, no key. Somebody has to act.
    case unusable
    /// The record's owner has as much as the call's `RecordAllowance` says.
    case overdrawn
    /// The caller's record cannot be stored.
    case invalid
  }

  /// The kind of fault.
  public let kind: Kind
  /// For people and logs: may name a file, a server or the beginning of a record's identifier, never contents or keys.
  public let detail: String
  /// Whether only too much was asked at a time: nothing is wrong with the store.
  public let isOverload: Bool

  /// An error of the given parts.
  public init(_ kind: Kind, _ detail: String, isOverload: Bool = false) {
    self.kind = kind
    self.detail = detail
    self.isOverload = isOverload
  }

  /// Whether the same call may succeed later.
  public var isRetryable: Bool { kind == .unavailable || kind == .locked }

  /// When to ask again, where there is something to wait for: a process that ends leaves the store to the next one.
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

extension StoreError: CustomStringConvertible {
  /// `kind: detail`.
  public var description: String { "\(kind.rawValue): \(detail)" }
}
