/// One level of a chain: an endpoint, or a `narrow` of a connection. A call has to pass every level up to the peer's
/// rule.
package final class Narrowing: Sendable {
  /// The endpoint's handle, or that of the `narrow`; random, and no secret.
  package let id: String
  /// The maker's name for it.
  package let label: String?
  /// The level above; nil: the maker came on the main socket.
  package let parent: Narrowing?
  /// What the chain leaves down to this level: a list of this level, where it has one, is within that of the level
  /// above.
  package let effective: Restriction

  package init(id: String, label: String?, parent: Narrowing?, effective: Restriction) {
    self.id = id
    self.label = label
    self.parent = parent
    self.effective = effective
  }

  /// The levels from the peer's rule down to this one.
  package var chain: [Narrowing] { (parent?.chain ?? []) + [self] }
}
