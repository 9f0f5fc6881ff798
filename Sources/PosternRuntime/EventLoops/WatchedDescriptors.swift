import Glibc

/// The descriptors that a loop watches, by number. An event has a token of number and generation, so that one that was
/// reported for a closed descriptor never reaches the handler of the next with the same number.
struct WatchedDescriptors {
  private struct Entry {
    let handler: any ReadinessHandler
    let generation: UInt32
    var interest: Readiness
  }

  private var entries: [Entry?] = []
  private var generation: UInt32 = 0

  /// Adds a descriptor; the token of its events.
  mutating func add(_ descriptor: CInt, _ interest: Readiness, _ handler: any ReadinessHandler) -> UInt64 {
    let index = Int(descriptor)
    if index >= entries.count { entries.append(contentsOf: repeatElement(nil, count: index + 1 - entries.count)) }
    generation &+= 1
    entries[index] = Entry(handler: handler, generation: generation, interest: interest)
    return Self.token(descriptor, generation)
  }

  /// Notes another interest; its token, or nil when nothing is to be changed.
  mutating func change(_ descriptor: CInt, to interest: Readiness) -> UInt64? {
    guard let entry = entry(descriptor), entry.interest != interest else { return nil }
    entries[Int(descriptor)]?.interest = interest
    return Self.token(descriptor, entry.generation)
  }

  /// Removes a descriptor; false when it is not watched.
  @discardableResult
  mutating func remove(_ descriptor: CInt) -> Bool {
    guard entry(descriptor) != nil else { return false }
    entries[Int(descriptor)] = nil
    return true
  }

  /// The handler of an event; nil when the descriptor is not watched any more.
  func handler(of token: UInt64) -> (any ReadinessHandler)? {
    guard let entry = entry(CInt(truncatingIfNeeded: token & 0x7FFF_FFFF)), entry.generation == UInt32(token >> 32)
    else { return nil }
    return entry.handler
  }

  private func entry(_ descriptor: CInt) -> Entry? {
    let index = Int(descriptor)
    return index >= 0 && index < entries.count ? entries[index] : nil
  }

  private static func token(_ descriptor: CInt, _ generation: UInt32) -> UInt64 {
    UInt64(generation) << 32 | UInt64(UInt32(bitPattern: descriptor))
  }
}
