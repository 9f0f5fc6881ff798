import Foundation
import PosternSupport
import SessionRecords
import Testing

@testable import SessionStore

extension SpendingShare {
  /// The share of a uid for one purpose.
  static func uid(_ uid: UInt32) -> SpendingShare { SpendingShare(uid: uid, part: "") }
}

/// Values that are good for one use.
@Suite("Used values")
struct SpentValueTests {
  private let folder = TemporaryFolder()
  private let now = Timestamp(secondsSinceEpoch: 1_800_000_000)

  private func value(_ number: Int) throws -> SpentValues.Identity { try SpentValues.identity(Records.key(number).id) }

  /// Would catch: a record that goes with its second, or stays and fills the memory.
  @Test("a used value is good again before its end, or its record stays")
  func expiry() throws {
    var values = SpentValues()
    let end = now + .milliseconds(60_500)
    #expect(try values.spend(try value(1), by: .uid(1), until: end, at: now))
    #expect(try values.spend(try value(1), by: .uid(1), until: end, at: now + .milliseconds(60_499)) == false)
    #expect(try values.spend(try value(2), by: .uid(1), until: end + .seconds(60), at: now + .seconds(62)))
    #expect(values.count == 1)
    #expect(try values.spend(try value(1), by: .uid(1), until: end + .seconds(60), at: now + .seconds(62)))
  }

  /// Would catch: a full memory that drops live records, or that one uid fills for all others.
  @Test("a full memory forgets, or one uid takes all of it")
  func capacity() throws {
    var values = SpentValues(capacity: 100)
    let end = now + .seconds(60)
    var taken = 0
    while taken < 200, (try? values.spend(try value(taken), by: .uid(1), until: end, at: now)) == true { taken += 1 }
    #expect(taken == 70)
    for number in 200..<210 { #expect(try values.spend(try value(number), by: .uid(2), until: end, at: now)) }
    for number in 0..<taken { #expect(try values.spend(try value(number), by: .uid(2), until: end, at: now) == false) }
    // Capacity comes back with time.
    #expect(try values.spend(try value(500), by: .uid(1), until: end + .seconds(120), at: end + .seconds(2)))
    #expect(values.count == 1)
  }

  /// Would catch: one API's clients that fill the share of their front's uid, so that its other APIs accept no proofs.
  @Test("one part of a uid takes all that the uid may have")
  func parts() throws {
    var values = SpentValues(capacity: 1300)
    let end = now + .seconds(60)
    func taken(_ first: Int, _ share: SpendingShare) throws -> Int {
      var count = 0
      while count < 2000, (try? values.spend(try value(first + count), by: share, until: end, at: now)) == true {
        count += 1
      }
      return count
    }
    let orders = SpendingShare(uid: 1, part: "orders")
    #expect(orders != SpendingShare(uid: 1, part: "billing") && orders == SpendingShare(uid: 1, part: "orders"))
    #expect(try taken(0, orders) == 900)
    #expect(try taken(2000, SpendingShare(uid: 1, part: "billing")) > 50)
    #expect(try taken(4000, SpendingShare(uid: 2, part: "orders")) > 100)
    #expect(try values.spend(try value(0), by: orders, until: end, at: now) == false)
    // Its capacity comes back with time, for each part.
    #expect(try values.spend(try value(9000), by: orders, until: end + .seconds(120), at: end + .seconds(2)))
    #expect(values.count == 1)
  }

  /// Would catch: an attempt that failed uses the value up, or its second use is dropped with the first one's end.
  @Test("a use that was taken back counts")
  func takenBack() throws {
    var values = SpentValues()
    #expect(try values.spend(try value(1), by: .uid(1), until: now + .seconds(10), at: now))
    values.remove(try value(1))
    #expect(values.count == 0)
    #expect(try values.spend(try value(1), by: .uid(2), until: now + .seconds(60), at: now))
    #expect(try values.spend(try value(1), by: .uid(2), until: now + .seconds(60), at: now + .seconds(30)) == false)
  }

  /// Would catch: a restart after which a proof can be used again, and files for those who use none.
  @Test("a used value is good again after a restart, or a store without used values has files for them")
  func restart() async throws {
    let store = try await FileRecordStore.open(.init(directory: folder.store))
    let names = { try FileManager.default.contentsOfDirectory(atPath: folder.store) }
    #expect(try names().contains { $0.hasPrefix("spent") } == false)
    for number in 0..<50 {
      #expect(try await store.spend(Records.key(number).id, by: .uid(1), until: now + .seconds(60), at: now))
    }
    await store.close()
    await expect(.unavailable) {
      _ = try await store.spend(Records.key(1).id, by: .uid(1), until: now + .seconds(60), at: now)
    }
    let next = try await FileRecordStore.open(.init(directory: folder.store))
    for number in 0..<50 {
      #expect(try await next.spend(Records.key(number).id, by: .uid(1), until: now + .seconds(60), at: now) == false)
    }
    #expect(try await next.spend(Records.key(51).id, by: .uid(1), until: now + .seconds(60), at: now))
    await next.close()
  }

  /// Would catch: a damaged or torn record that keeps the sessions' store closed, or hides the records behind it.
  @Test("damage in the log of used values stops the store, or hides other records")
  func damage() async throws {
    let store = try await FileRecordStore.open(.init(directory: folder.store))
    for number in 0..<3 {
      _ = try await store.spend(Records.key(number).id, by: .uid(1), until: now + .seconds(60), at: now)
    }
    await store.close()
    let path = folder.file("spent-1.log")
    var bytes = try Data(contentsOf: URL(fileURLWithPath: path))
    #expect(bytes.count == 108)
    bytes.replaceSubrange(36..<72, with: Data(repeating: 0, count: 36))
    bytes.append(Data([1, 2, 3]))
    let handle = try FileHandle(forWritingTo: URL(fileURLWithPath: path))
    try handle.write(contentsOf: bytes)
    try handle.close()
    let next = try await FileRecordStore.open(.init(directory: folder.store))
    let again = { (number: Int) in
      try await next.spend(Records.key(number).id, by: .uid(1), until: now + .seconds(60), at: now)
    }
    #expect(try await again(0) == false)
    #expect(try await again(1))
    #expect(try await again(2) == false)
    #expect(try await again(7))
    await next.close()
  }

  /// Would catch: files that grow for ever, or one that is emptied while its records count.
  @Test("the log of used values grows without end, or loses live records as it is emptied")
  func exchange() throws {
    let directory = try StoreDirectory(path: folder.store)
    let log = SpentValueLog(in: directory)
    for number in 0..<20_000 {
      // 100 in a second, each for a minute: 6,000 are live.
      let time = now + .milliseconds(number * 10)
      #expect(try log.spend(try value(number), by: .uid(1), until: time + .seconds(60), at: time))
    }
    let sizes = try ["spent-1.log", "spent-2.log"].map {
      try Data(contentsOf: URL(fileURLWithPath: folder.file($0))).count
    }
    #expect(sizes.allSatisfy { $0 <= 32 * 12_500 })
    log.close()
    let next = SpentValueLog(in: directory)
    let time = now + .seconds(200)
    for number in 14_100..<20_000 {
      #expect(try next.spend(try value(number), by: .uid(1), until: time + .seconds(60), at: time) == false)
    }
  }
}
