import PosternCrypto
package import PosternProtocol
package import PosternSupport

/// The endpoints that there are: which there may be, which end with which, and who sees which. No clock, no sockets.
package struct EndpointTree {
  /// The most endpoints of a uid.
  package static let capacityPerUID = 1024
  /// The most endpoints.
  package static let capacity = 4096
  /// How many of a uid's may be made through endpoints: the main socket always has some left.
  package static let capacityBelow = 768
  /// The most bytes of all lists.
  private static let bytes = (all: 32 << 20, perUID: 8 << 20)

  /// Why there can be no further endpoint.
  package enum Rejection: Error, Sendable, Hashable {
    /// There are too many, of this uid or in all.
    case tooMany
    /// The endpoint that it is made through has ended.
    case ended
  }

  /// An endpoint.
  package struct Entry: Sendable {
    /// The last level of its chain.
    package let narrowing: Narrowing
    /// Its maker and times.
    package let facts: EndpointFacts
    /// Its position in lists.
    package let number: Int64
    /// The nearest endpoint of its chain.
    fileprivate let parent: String?
    fileprivate var children: Set<String> = []
    /// Its sockets; nil while they are being made.
    package fileprivate(set) var sockets: EndpointPaths?

    /// Its handle.
    package var id: String { narrowing.id }
  }

  private var entries: [String: Entry] = [:]
  /// The endpoints of each uid, the oldest first.
  private var numbers: [UInt32: [(number: Int64, id: String)]] = [:]
  /// The endpoints that end with a connection.
  private var bound: [UInt64: Set<String>] = [:]
  private var slots = SharedBudget(capacity: Self.capacity, capacityPerUID: Self.capacityPerUID)
  private var bytes = SharedBudget(capacity: Self.bytes.all, capacityPerUID: Self.bytes.perUID)
  /// The bytes of the lists that each connection has narrowed itself by.
  private var narrowed: [UInt64: (uid: UInt32, bytes: Int)] = [:]
  private var nextNumber: Int64 = 1
  /// Not later than the first expiry.
  package private(set) var nextExpiry: MonotonicInstant?

  package init() {}

  /// How many there are.
  package var count: Int { entries.count }

  /// The endpoint of that handle.
  package subscript(id: String) -> Entry? { entries[id] }

  /// Adds an endpoint, whose sockets are still to be made.
  package mutating func add(_ narrowing: Narrowing, _ facts: EndpointFacts) throws(Rejection) {
    var parent: String?
    if let above = narrowing.parent {
      parent = nearest(to: above)
      guard parent != nil || !above.chain.contains(where: { EndpointHandle.isOne($0.id) }) else { throw .ended }
    }
    let uid = facts.uid
    guard parent == nil || (numbers[uid]?.count ?? 0) < Self.capacityBelow else { throw .tooMany }
    guard slots.take(1, for: uid) else { throw .tooMany }
    guard bytes.take(facts.byteCount, for: uid) else {
      slots.giveBack(1, for: uid)
      throw .tooMany
    }
    let id = narrowing.id
    entries[id] = Entry(narrowing: narrowing, facts: facts, number: nextNumber, parent: parent)
    numbers[uid, default: []].append((nextNumber, id))
    nextNumber += 1
    if let parent { entries[parent]?.children.insert(id) }
    if let connection = facts.connection { bound[connection, default: []].insert(id) }
    if let expiry = narrowing.expiry { nextExpiry = nextExpiry.map { min($0, expiry) } ?? expiry }
  }

  /// Counts the lists of a `narrow`, which are kept until the connection ends; false when its uid's are too many.
  package mutating func count(_ limits: EndpointLimits, of connection: UInt64, uid: UInt32) -> Bool {
    guard bytes.take(limits.byteCount, for: uid) else { return false }
    narrowed[connection, default: (uid, 0)].bytes += limits.byteCount
    return true
  }

  /// The connection has ended.
  mutating func forgetNarrowed(_ connection: UInt64) {
    guard let count = narrowed.removeValue(forKey: connection) else { return }
    bytes.giveBack(count.bytes, for: count.uid)
  }

  /// The endpoint has its sockets; false when it has ended meanwhile.
  package mutating func opened(_ id: String, at paths: EndpointPaths) -> Bool {
    guard entries[id] != nil else { return false }
    entries[id]?.sockets = paths
    return true
  }

  /// Whether a connection of `uid` whose last level is `level` may see the endpoint: on the main socket all of its
  /// uid's, otherwise those that were made through it.
  package func sees(_ id: String, uid: UInt32, _ level: Narrowing?) -> Bool {
    guard let entry = entries[id], entry.facts.uid == uid else { return false }
    return level.map { entry.isBelow($0) } ?? true
  }

  /// The endpoints behind `position` that such a connection sees, the oldest first.
  package func entries(
    of uid: UInt32, below level: Narrowing?, after position: Int64, atMost limit: Int
  ) -> [Entry] {
    let own = numbers[uid] ?? []
    var (low, high) = (0, own.count)
    while low < high {
      let middle = (low + high) / 2
      if own[middle].number <= position { low = middle + 1 } else { high = middle }
    }
    var found: [Entry] = []
    for (_, id) in own[low...] where found.count < limit {
      guard let entry = entries[id], entry.sockets != nil, level.map({ entry.isBelow($0) }) ?? true else { continue }
      found.append(entry)
    }
    return found
  }

  // MARK: - Ends

  /// Ends the endpoint and those made through it; returns them, the deepest first.
  package mutating func end(_ id: String) -> [Entry] { end([id]) }

  /// Ends those that are bound to the connection.
  package mutating func end(boundTo connection: UInt64) -> [Entry] { end((bound[connection] ?? []).sorted()) }

  /// Ends those whose time is over: the first to expire first, each after those made through it.
  package mutating func endExpired(at now: MonotonicInstant) -> [Entry] {
    let due = entries.values.compactMap { entry in
      entry.narrowing.expiry.flatMap { $0 <= now ? (expiry: $0, number: entry.number, id: entry.id) : nil }
    }
    let ended = due.sorted { ($0.expiry, $0.number) < ($1.expiry, $1.number) }.flatMap { end($0.id) }
    nextExpiry = entries.values.lazy.compactMap(\.narrowing.expiry).min()
    return ended
  }

  private mutating func end(_ ids: [String]) -> [Entry] {
    var ended: [Entry] = []
    var next = ids.compactMap { entries[$0] }
    var seen = Set(next.map(\.id))
    while !next.isEmpty {
      ended += next
      next = next.flatMap(\.children).filter { seen.insert($0).inserted }.compactMap { entries[$0] }
    }
    ended.sort { ($0.narrowing.depth, $0.number) > ($1.narrowing.depth, $1.number) }
    for entry in ended { remove(entry) }
    return ended
  }

  private mutating func remove(_ entry: Entry) {
    let (id, facts) = (entry.id, entry.facts)
    entries[id] = nil
    numbers[facts.uid]?.removeAll { $0.number == entry.number }
    if numbers[facts.uid]?.isEmpty ?? false { numbers[facts.uid] = nil }
    if let parent = entry.parent { entries[parent]?.children.remove(id) }
    if let connection = facts.connection {
      bound[connection]?.remove(id)
      if bound[connection]?.isEmpty ?? false { bound[connection] = nil }
    }
    slots.giveBack(1, for: facts.uid)
    bytes.giveBack(facts.byteCount, for: facts.uid)
  }

  private func nearest(to level: Narrowing) -> String? {
    var level: Narrowing? = level
    while let current = level {
      if entries[current.id] != nil { return current.id }
      // One that has ended; a level of `narrow` has no entry.
      if EndpointHandle.isOne(current.id) { return nil }
      level = current.parent
    }
    return nil
  }
}

/// The maker and the times of an endpoint.
package struct EndpointFacts: Sendable {
  /// The peer that its calls are of.
  package let maker: Peer
  package let createdAt: Timestamp
  /// When it ends by itself.
  package var expiresAt: Timestamp?
  /// The connection that it ends with.
  package var connection: UInt64?
  /// About as many bytes as its lists take.
  fileprivate let byteCount: Int

  package init(_ narrowing: Narrowing, of maker: Peer, createdAt: Timestamp) {
    self.maker = maker
    self.createdAt = createdAt
    byteCount = narrowing.limits.byteCount
  }

  fileprivate var uid: UInt32 { maker.uid }
}

/// Where an endpoint's sockets are.
package struct EndpointPaths: Sendable, Hashable {
  package var path: String?
  package var httpPath: String?

  package init(path: String?, httpPath: String?) {
    self.path = path
    self.httpPath = httpPath
  }
}

/// The handles of endpoints: random, so that none can be guessed, and distinct from those of other levels.
package enum EndpointHandle {
  private static let prefix = "ep_"
  private static let byteCount = 25

  /// A new handle.
  package static func random() -> String { prefix + Base64URL.string(SecureRandom.bytes(16)) }

  /// Whether `id` is an endpoint's.
  package static func isOne(_ id: String) -> Bool { id.utf8.count == byteCount && id.startsWithBytes(of: prefix) }
}

extension EndpointTree.Entry {
  /// Whether it was made through `level`, or something made through it.
  fileprivate func isBelow(_ level: Narrowing) -> Bool { level.covers(narrowing.parent) }
}

extension EndpointLimits {
  /// About as many bytes as a level's lists take: the texts in two forms, and each segment of a path.
  fileprivate var byteCount: Int {
    let lists = [resources, methods, httpMethods, paths, sessions]
    let segments = (paths ?? []).reduce(0) { $0 + $1.utf8.count { $0 == UInt8(ascii: "/") } + 1 }
    return 512 + 48 * segments + lists.reduce(0) { $0 + 2 * ($1 ?? []).reduce(0) { $0 + $1.utf8.count + 48 } }
  }
}
