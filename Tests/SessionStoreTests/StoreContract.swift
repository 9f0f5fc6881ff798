import PosternSupport
import SessionRecords
import Testing

/// The behaviour of every store, whatever its implementation.
enum StoreContract: String, Sendable, CaseIterable {
  case returnsWhatWasWritten
  case knowsNothingOfWhatWasNotWritten
  case rejectsAnExistingKey
  case rejectsAnUnexpectedVersion
  case rejectsAnotherUid
  case listsByUid
  case listsOwners
  case listsInPages
  case listsWhatStaysOnce
  case endsAPageWithManyBytes
  case knowsUsageOfUid
  case boundsWhatIsAddedAtOnce
  case boundsWhatGrowsAtOnce
  case replacesTheOldest
  case replacesForBytes
  case replacesAtOnce
  case removesOnce
  case takesOnce
  case purgesWhatExpired
  case keepsEmptyAndLargeContents
  case rejectsWhatCannotBeStored
  case survivesConcurrentWriters
  case letsOneOfManyTakers
  case spendsOnce
  case failsWhenClosed

  func check(_ store: any RecordStore) async throws {
    switch self {
    case .returnsWhatWasWritten: try await returnsWhatWasWritten(store)
    case .knowsNothingOfWhatWasNotWritten: try await knowsNothing(store)
    case .rejectsAnExistingKey: try await rejectsAnExistingKey(store)
    case .rejectsAnUnexpectedVersion: try await rejectsAnUnexpectedVersion(store)
    case .rejectsAnotherUid:
      try await store.insert(Records.record(1))
      await expect(.conflict) { try await store.replace(Records.record(1, uid: 7, version: 2), under: nil) }
    case .listsByUid: try await listsByUid(store)
    case .listsOwners: try await listsOwners(store)
    case .listsInPages: try await listsInPages(store)
    case .listsWhatStaysOnce: try await listsWhatStaysOnce(store)
    case .endsAPageWithManyBytes: try await endsAPageWithManyBytes(store)
    case .knowsUsageOfUid: try await knowsUsageOfUid(store)
    case .boundsWhatIsAddedAtOnce: try await boundsWhatIsAddedAtOnce(store)
    case .boundsWhatGrowsAtOnce: try await boundsWhatGrowsAtOnce(store)
    case .replacesTheOldest: try await replacesTheOldest(store)
    case .replacesForBytes: try await replacesForBytes(store)
    case .replacesAtOnce: try await replacesAtOnce(store)
    case .removesOnce:
      try await store.insert(Records.record(1))
      #expect(try await store.remove(Records.key(1)))
      #expect(try await store.remove(Records.key(1)) == false)
      #expect(try await store.record(for: Records.key(1)) == nil)
    case .takesOnce:
      try await store.insert(Records.record(1, .authorization))
      #expect(try await store.take(Records.key(1, .authorization)) == Records.record(1, .authorization))
      #expect(try await store.take(Records.key(1, .authorization)) == nil)
      #expect(try await store.records(in: .authorization, ownedBy: 1000).isEmpty)
    case .purgesWhatExpired: try await purgesWhatExpired(store)
    case .keepsEmptyAndLargeContents:
      for (number, size) in [0, 1, 4096, StoredRecord.maximumByteCount].enumerated() {
        try await store.insert(Records.record(number, size: size))
        #expect(try await store.record(for: Records.key(number)) == Records.record(number, size: size))
      }
    case .rejectsWhatCannotBeStored: await rejectsWhatCannotBeStored(store)
    case .survivesConcurrentWriters: try await survivesConcurrentWriters(store)
    case .letsOneOfManyTakers: try await letsOneOfManyTakers(store)
    case .spendsOnce: try await spendsOnce(store)
    case .failsWhenClosed:
      await store.close()
      await store.close()
      await expect(.unavailable) { _ = try await store.record(for: Records.key(1)) }
      await expect(.unavailable) { try await store.insert(Records.record(1)) }
    }
  }

  private func returnsWhatWasWritten(_ store: any RecordStore) async throws {
    for expiry in [nil, Records.farFuture] {
      let number = expiry == nil ? 1 : 2
      try await store.insert(Records.record(number, expiresAt: expiry))
      #expect(try await store.record(for: Records.key(number)) == Records.record(number, expiresAt: expiry))
    }
    try await store.replace(Records.record(1, version: 2, expiresAt: Records.farFuture), under: nil)
    try await store.replace(Records.record(1, version: 3, expiresAt: nil), under: nil)
    #expect(try await store.record(for: Records.key(1)) == Records.record(1, version: 3, expiresAt: nil))
  }

  private func knowsNothing(_ store: any RecordStore) async throws {
    try await store.insert(Records.record(1))
    #expect(try await store.record(for: Records.key(2)) == nil)
    #expect(try await store.record(for: Records.key(1, .authorization)) == nil)
    #expect(try await store.take(Records.key(1, .authorization)) == nil)
    #expect(try await store.records(in: .session, ownedBy: 1).isEmpty)
    #expect(try await store.count(in: .authorization) == 0)
    await expect(.conflict) { try await store.replace(Records.record(2, version: 2), under: nil) }
  }

  private func rejectsAnExistingKey(_ store: any RecordStore) async throws {
    try await store.insert(Records.record(1))
    await expect(.conflict) { try await store.insert(Records.record(1, uid: 2)) }
    await expect(.conflict) { try await store.insert(Records.record(2, version: 2)) }
    #expect(try await store.record(for: Records.key(1)) == Records.record(1))
    // The same identifier in the other collection is another record.
    try await store.insert(Records.record(1, .authorization))
  }

  private func rejectsAnUnexpectedVersion(_ store: any RecordStore) async throws {
    try await store.insert(Records.record(1))
    for version: UInt64 in [1, 3, UInt64(Int64.max)] {
      await expect(.conflict) { try await store.replace(Records.record(1, version: version), under: nil) }
    }
    try await store.replace(Records.record(1, version: 2), under: nil)
    await expect(.conflict) { try await store.replace(Records.record(1, version: 2, size: 10), under: nil) }
    #expect(try await store.record(for: Records.key(1)) == Records.record(1, version: 2))
  }

  private func listsByUid(_ store: any RecordStore) async throws {
    for number in 0..<10 { try await store.insert(Records.record(number, uid: UInt32(number % 2) * .max)) }
    try await store.insert(Records.record(11, .authorization, uid: 0))
    let records = try await store.records(in: .session, ownedBy: .max)
    #expect(Set(records.map(\.key)) == Set([1, 3, 5, 7, 9].map { Records.key($0) }))
    #expect(try await store.count(in: .session) == 10)
    #expect(try await store.count(in: .authorization) == 1)
    #expect(try await store.usage(of: .max).count(in: .session) == 5)
    #expect(try await store.usage(of: .max).count(in: .authorization) == 0)
    #expect(try await store.remove(Records.key(1)))
    #expect(try await store.usage(of: .max).count(in: .session) == 4)
  }

  private func purgesWhatExpired(_ store: any RecordStore) async throws {
    let now = Records.farFuture
    try await withThrowingTaskGroup(of: Void.self) { group in
      for number in 0..<1500 {
        group.addTask {
          try await store.insert(Records.record(number, expiresAt: now + .milliseconds(-1), size: 10))
        }
      }
      try await group.waitForAll()
    }
    try await store.insert(Records.record(2000, expiresAt: now))
    try await store.insert(Records.record(2001, expiresAt: nil))
    var purged = 0
    for _ in 0..<100 {
      let count = try await store.purge(expiredAt: now)
      purged += count
      if count == 0 { break }
    }
    #expect(purged == 1500)
    #expect(try await store.count(in: .session) == 2)
    #expect(try await store.records(in: .session, ownedBy: 1000).count == 2)
  }

  private func rejectsWhatCannotBeStored(_ store: any RecordStore) async {
    await expect(.invalid) { try await store.insert(Records.record(1, version: 0)) }
    await expect(.invalid) { try await store.replace(Records.record(1, version: .max), under: nil) }
    await expect(.invalid) {
      try await store.insert(Records.record(1, size: StoredRecord.maximumByteCount + 1))
    }
    for count in [0, 31, 33] {
      var record = Records.record(1)
      record.key = RecordKey(collection: .session, id: [UInt8](repeating: 1, count: count))
      await expect(.invalid) { [record] in try await store.insert(record) }
      let found = try? await store.record(for: record.key)
      #expect(found == .some(nil))
    }
  }

  private func survivesConcurrentWriters(_ store: any RecordStore) async throws {
    try await store.insert(Records.record(0))
    // Many raise the version of one record; each success is one version.
    let successes = await withTaskGroup(of: Int.self) { group in
      for _ in 0..<8 {
        group.addTask {
          var successes = 0
          for _ in 0..<25 {
            guard let stored = try? await store.record(for: Records.key(0)) else { continue }
            let next = Records.record(0, version: stored.version + 1)
            if (try? await store.replace(next, under: nil)) != nil { successes += 1 }
          }
          return successes
        }
      }
      return await group.reduce(0, +)
    }
    let last = try await store.record(for: Records.key(0))
    #expect(last == Records.record(0, version: UInt64(successes + 1)))
    #expect(successes >= 25)
  }

  private func letsOneOfManyTakers(_ store: any RecordStore) async throws {
    try await store.insert(Records.record(1, .authorization))
    let taken = await withTaskGroup(of: Int.self) { group in
      for _ in 0..<16 {
        group.addTask { ((try? await store.take(Records.key(1, .authorization))) ?? nil) == nil ? 0 : 1 }
      }
      return await group.reduce(0, +)
    }
    #expect(taken == 1)
  }
}

/// Expects an error of that kind.
func expect(
  _ kind: StoreError.Kind, sourceLocation: SourceLocation = #_sourceLocation,
  _ body: () async throws -> Void
) async {
  do {
    try await body()
    Issue.record("no error where \(kind) was expected", sourceLocation: sourceLocation)
  } catch let error as StoreError {
    #expect(error.kind == kind, "\(error)", sourceLocation: sourceLocation)
  } catch {
    Issue.record("\(error)", sourceLocation: sourceLocation)
  }
}
