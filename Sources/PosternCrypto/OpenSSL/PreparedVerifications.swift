import PosternSupport

/// The verifications set up so far for one key, one per scheme. Owned by the key; its lock is held for the look-up
/// only.
final class PreparedVerifications<Scheme: Hashable & Sendable>: Sendable {
  private let prepared = Locked<[(scheme: Scheme, verification: PreparedVerification)]>([])

  /// The one for `scheme`, made with `make` at its first use; nil when it cannot be made.
  func verification(for scheme: Scheme, make: () -> PreparedVerification?) -> PreparedVerification? {
    let known = prepared.withLock { prepared in prepared.first { $0.scheme == scheme }?.verification }
    if let known { return known }
    guard let made = make() else { return nil }
    prepared.withLock { prepared in
      // Another thread may have been faster: then either of the two does.
      if !prepared.contains(where: { $0.scheme == scheme }) { prepared.append((scheme, made)) }
    }
    return made
  }
}
