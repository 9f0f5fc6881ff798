/// The share of one uid in a capacity that several uids use: at most three times what is still free. Whatever one uid
/// holds, and for how long, something is left for a uid that has less (dynamic thresholds, as in a switch's buffers).
public enum FairShare {
  /// How many times the free capacity one uid may hold.
  public static let times = 3

  /// Whether a uid that holds `own` may have one more while `free` is free; or, where pieces differ in size, whether
  /// `own` with the new piece is allowed next to what it leaves free.
  @inlinable
  public static func allows(_ own: Int, free: Int) -> Bool { free > 0 && own / times < free }

  /// How much more a uid that holds `own` may have while `free` is free.
  @usableFromInline
  package static func remainder(_ own: Int, free: Int) -> Int {
    let (most, overflow) = max(0, free).multipliedReportingOverflow(by: times)
    return max(0, min(free, overflow ? .max : most - own))
  }

  /// The share of one where `configured` of `wanted` are one's, and there are only `total`: it shrinks with the total,
  /// though not below 16 as long as a quarter is left for others.
  public static func scaled(_ configured: Int, of wanted: Int, to total: Int) -> Int {
    guard total < wanted else { return configured }
    let most = max(1, total - max(1, total / 4))
    let (product, overflow) = max(0, total).multipliedReportingOverflow(by: configured)
    return min(configured, most, max(overflow ? most : product / max(1, wanted), leastScaled))
  }

  private static let leastScaled = 16
}

/// An amount, such as bytes or entries, that uids take parts of and give back: each at most `capacityPerUID`, and at
/// most three times what all leave free (`FairShare`). Nothing waits for it.
public struct SharedBudget: Sendable {
  private let capacity: Int
  private let capacityPerUID: Int
  /// What the uids have without their excess.
  private var total = 0
  private var amounts: [UInt32: Int] = [:]
  /// The part of a uid's amount that was not allowed when it was taken.
  private var excess: [UInt32: Int] = [:]

  /// A budget of which nothing is taken.
  public init(capacity: Int = .max, capacityPerUID: Int) {
    self.capacity = capacity
    self.capacityPerUID = capacityPerUID
  }

  /// How many uids have a part.
  public var uidCount: Int { amounts.count }

  /// How much `uid` has.
  package func amount(of uid: UInt32) -> Int { amounts[uid] ?? 0 }

  /// Whether `uid` may take so much.
  public func allows(_ amount: Int, for uid: UInt32) -> Bool { allows(amount, for: uid, givenBack: 0) }

  /// Whether `uid` may take so much after it has given back `returned`.
  package func allows(_ amount: Int, for uid: UInt32, givenBack returned: Int) -> Bool {
    let (own, isTooMuch) = ((amounts[uid] ?? 0) - returned).addingReportingOverflow(amount)
    let free = capacity - (total - max(0, returned - (excess[uid] ?? 0)))
    return !isTooMuch && own <= capacityPerUID && amount <= free && FairShare.allows(own, free: free - amount)
  }

  /// Takes so much for `uid`; false when that is not allowed.
  public mutating func take(_ amount: Int, for uid: UInt32) -> Bool {
    guard allows(amount, for: uid) else { return false }
    add(amount, for: uid)
    return true
  }

  /// Takes so much for `uid`, allowed or not. What is not allowed counts for the uid alone, so that it takes nothing from
  /// the shares of others.
  package mutating func add(_ amount: Int, for uid: UInt32) {
    if allows(amount, for: uid) { total += amount } else { excess[uid, default: 0] += amount }
    amounts[uid, default: 0] += amount
  }

  /// Gives back what `take` or `add` took, first what was not allowed.
  public mutating func giveBack(_ amount: Int, for uid: UInt32) {
    let beyond = min(amount, excess[uid] ?? 0)
    total -= amount - beyond
    Self.reduce(&excess[uid], by: beyond)
    Self.reduce(&amounts[uid], by: amount)
  }

  private static func reduce(_ held: inout Int?, by amount: Int) {
    let left = (held ?? 0) - amount
    held = left > 0 ? left : nil
  }
}

extension SharedBudget: ConciseStringConvertible {
  /// How much is in use.
  public var description: String {
    "\(total) of \(Concise.capacity(capacity)) in use by \(Concise.count(uidCount, "uid"))"
  }
}
