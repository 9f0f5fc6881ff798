import Foundation
import PosternSupport
import PosternTestSupport
import SessionRecords
import Testing

@testable import SessionStore

@Suite("Stores in Redis", .serialized)
struct RedisStoreTests {
  func configuration(
    _ server: RedisServer, key: StoreKey = .random(), name: String = UUID().uuidString
  ) -> RedisRecordStore.Configuration {
    var configuration = RedisRecordStore.Configuration(url: server.url, key: key)
    configuration.name = name
    // Longer than any machine pauses; `times` has its own.
    configuration.connectTimeout = .seconds(30)
    configuration.commandTimeout = .seconds(30)
    if server.port != 0 {
      configuration.password = Secret(RedisServer.password)
      configuration.caFile = server.authority
    }
    return configuration
  }

  @Test("a store in Redis, on a Unix socket or over TLS, breaks a promise of the port", arguments: [false, true])
  func contract(isEncrypted: Bool) async throws {
    let server = try RedisServer(isEncrypted: isEncrypted)
    for contract in StoreContract.allCases {
      let store = try await RedisRecordStore.open(configuration(server))
      try await contract.check(store)
      await store.close()
    }
  }

  @Test("a wrong password, authority, database or address is not reported, or the password shows")
  func rejections() async throws {
    let server = try RedisServer(isEncrypted: true)
    let good = configuration(server)
    var wrong = good
    wrong.password = Secret("guess-no-1")
    await expect(.unusable) { _ = try await RedisRecordStore.open(wrong) }
    wrong.password = nil
    await expect(.unusable) { _ = try await RedisRecordStore.open(wrong) }
    wrong = good
    wrong.username = "unknown"
    await expect(.unusable) { _ = try await RedisRecordStore.open(wrong) }
    wrong = good
    wrong.caFile = "\(server.folder.path)/other.pem"
    await expect(.unavailable) { _ = try await RedisRecordStore.open(wrong) }
    wrong.caFile = nil
    await expect(.unavailable) { _ = try await RedisRecordStore.open(wrong) }
    wrong = good
    wrong.url = "rediss://localhost:\(server.port)/3"
    await expect(.unavailable) { _ = try await RedisRecordStore.open(wrong) }
    wrong.url = "rediss://127.0.0.1:\(server.port)/99"
    await expect(.unusable) { _ = try await RedisRecordStore.open(wrong) }
    wrong.url = "redis://127.0.0.1:1/0"
    await expect(.unavailable) { _ = try await RedisRecordStore.open(wrong) }
  }

  @Test(
    "an address that is none is taken for one",
    arguments: [
      "", "redis:", "http://cache/0", "redis://", "redis:///0", "redis://cache:0", "redis://cache:65536",
      "redis://cache:x",
      "redis://user:password@cache", "redis://cache/x", "redis://cache/-1", "redis://cache/10000", "redis://cache/0/1",
      "redis://cache?db=1", "redis://cache#1", "redis://[::1", "redis://[::1]x", "redis://a b", "unix://", "unix://a",
      "unix:///a?x=1", "unix:///a?db=x", "redis://cache\0",
    ])
  func badAddresses(_ url: String) async {
    await expect(.unusable) { _ = try RedisAddress(url) }
  }

  @Test("a part of an address is lost")
  func addresses() throws {
    let first = try RedisAddress("rediss://cache:6380/2")
    #expect(first.location == .tcp(host: "cache", port: 6380) && first.isEncrypted && first.database == 2)
    let second = try RedisAddress("REDIS://[::1]")
    #expect(second.location == .tcp(host: "::1", port: 6379) && !second.isEncrypted && second.database == 0)
    let third = try RedisAddress("unix:///run/redis.sock?db=4")
    #expect(third.location == .unix(path: "/run/redis.sock") && third.database == 4)
  }

  @Test("two hold a lease at once, one gives back another's, or a dead holder keeps it")
  func leases() async throws {
    let server = try RedisServer(isEncrypted: false)
    let settings = configuration(server)
    let first = try await RedisRecordStore.open(settings)
    let second = try await RedisRecordStore.open(settings)
    try await first.insert(Records.record(1))
    let lease = try #require(try await first.lease(Records.key(1), for: .seconds(600)))
    #expect(try await second.lease(Records.key(1), for: .seconds(600)) == nil)
    await second.release(RecordLease(key: lease.key, fence: lease.fence, token: [1, 2, 3]))
    #expect(try await second.lease(Records.key(1), for: .seconds(600)) == nil)
    // Another record is another lease.
    try await first.insert(Records.record(2))
    #expect(try await second.lease(Records.key(2), for: .seconds(600)) != nil)
    // What the time does, without waiting for it.
    try server.cli("DEL", "postern:{\(settings.name)}:lease:session:\(hexadecimal(Records.key(1)))")
    // Late, but no other process has got it since: the refreshed token is not lost.
    try await first.replace(Records.record(1, version: 2), under: lease)
    let successor = try #require(try await second.lease(Records.key(1), for: .milliseconds(1)))
    #expect(successor.fence > lease.fence)
    await expect(.leaseLost) { try await first.replace(Records.record(1, version: 3), under: lease) }
    try await second.replace(Records.record(1, version: 3), under: successor)
    // A millisecond has passed by now; the server frees the lease by itself.
    var third: RecordLease?
    for _ in 0..<1000 where third == nil { third = try await first.lease(Records.key(1), for: .seconds(600)) }
    #expect(third != nil)
    await first.close()
    await second.close()
  }

  @Test(
    "two sidecars together let a uid have more than one would, or do not see the capacity that the other has freed")
  func sharedAllowance() async throws {
    let server = try RedisServer(isEncrypted: false)
    let settings = configuration(server)
    let clock = ManualClock()
    let first = try await RedisRecordStore.open(settings, clock: clock)
    let second = try await RedisRecordStore.open(settings, clock: clock)
    let allowance = RecordAllowance(count: 1000, bytes: 10_000)
    // Both have looked how much there is before anything is added.
    for (number, store) in [first, second].enumerated() {
      try await store.insert(Records.record(100 + number, uid: 1, size: 0), within: allowance)
    }
    let added = await successes(of: 60) { (number) async throws(StoreError) in
      try await (number % 2 == 0 ? first : second).insert(
        Records.record(number, uid: 1, size: 1000), within: allowance)
    }
    #expect(added == 10)
    #expect(try await first.usage(of: 1).bytes == 10_000)
    let stored = try await first.records(in: .session, ownedBy: 1).filter { $0.contents.byteCount > 0 }
    #expect(try await second.remove(stored[0].key))
    clock.advance(by: .seconds(2))
    try await first.insert(Records.record(200, uid: 1, size: 1000), within: allowance)
    await expect(.overdrawn) { try await second.insert(Records.record(201, uid: 1, size: 1), within: allowance) }
    await first.close()
    await second.close()
  }

  @Test("contents or keys can be read in the server, or a record never leaves it")
  func storedForm() async throws {
    let server = try RedisServer(isEncrypted: false)
    let settings = configuration(server)
    let store = try await RedisRecordStore.open(settings)
    try await store.insert(Records.record(1))
    let record = "postern:{\(settings.name)}:record:session:\(hexadecimal(Records.key(1)))"
    #expect(try server.cli("HGETALL", record).contains("contents of") == false)
    #expect(try server.cli("PEXPIRETIME", record).contains("4000000060000"))
    try await store.replace(Records.record(1, version: 2, expiresAt: nil), under: nil)
    #expect(try server.cli("PEXPIRETIME", record).contains("-1"))
    #expect(
      try server.cli("ZSCORE", "postern:{\(settings.name)}:all:session", "1000:\(hexadecimal(Records.key(1)))")
        .contains("inf"))
    await store.close()
  }

  @Test(
    "a field that was altered in the server is passed on",
    arguments: [
      ("o", "1001"), ("o", "x"), ("v", "2"), ("v", "-1"), ("e", ""), ("e", "4000000000001"), ("n", "short"), ("c", "x"),
    ])
  func tampered(_ field: String, _ value: String) async throws {
    let server = try RedisServer(isEncrypted: false)
    let settings = configuration(server)
    let store = try await RedisRecordStore.open(settings)
    try await store.insert(Records.record(1))
    let record = "postern:{\(settings.name)}:record:session:\(hexadecimal(Records.key(1)))"
    try server.cli("HSET", record, field, value)
    await expect(.corrupted) { _ = try await store.record(for: Records.key(1)) }
    // Another record's fields do not fit either.
    try await store.insert(Records.record(2))
    let other = "postern:{\(settings.name)}:record:session:\(hexadecimal(Records.key(2)))"
    try server.cli("COPY", record, other, "REPLACE")
    await expect(.corrupted) { _ = try await store.record(for: Records.key(2)) }
    #expect(try await store.remove(Records.key(2)))
    await store.close()
  }

  @Test("a store of another key or of a newer format opens, or a new key cannot follow an old one")
  func keys() async throws {
    let server = try RedisServer(isEncrypted: false)
    let old = configuration(server)
    let first = try await RedisRecordStore.open(old)
    try await first.insert(Records.record(1))
    await expect(.keyMismatch) { _ = try await RedisRecordStore.open(configuration(server, name: old.name)) }
    var new = configuration(server, name: old.name)
    new.previousKeys = [old.key]
    let second = try await RedisRecordStore.open(new)
    #expect(try await second.record(for: Records.key(1)) == Records.record(1))
    try await second.replace(Records.record(1, version: 2), under: nil)
    await expect(.keyMismatch) { _ = try await first.record(for: Records.key(1)) }
    await first.close()
    await second.close()
    try server.cli("HSET", "postern:{\(old.name)}:store", "format", "2")
    await expect(.unusable) { _ = try await RedisRecordStore.open(new) }
  }

  @Test("a store does not come back after its server did, or callers wait for a server that is not there")
  func reconnects() async throws {
    let server = try RedisServer(isEncrypted: false)
    let clock = ManualClock()
    let store = try await RedisRecordStore.open(configuration(server), clock: clock)
    try await store.insert(Records.record(1))
    server.stop()
    await expect(.unavailable) { _ = try await store.record(for: Records.key(1)) }
    try server.restart()
    // Still inside the pause.
    await expect(.unavailable) { _ = try await store.record(for: Records.key(1)) }
    clock.advance(by: .seconds(10))
    // This server keeps nothing on disk: it is there again, and empty.
    #expect(try await store.record(for: Records.key(1)) == nil)
    try await store.insert(Records.record(1))
    // A connection that ended while it was idle costs no call.
    try server.cli("CLIENT", "KILL", "TYPE", "normal")
    #expect(try await store.take(Records.key(1)) == Records.record(1))
    try server.cli("CLIENT", "KILL", "TYPE", "normal")
    try await store.insert(Records.record(2))
    await store.close()
  }

  @Test("a server that does not answer holds its callers for ever")
  func times() async throws {
    let server = try RedisServer(isEncrypted: true)
    var settings = configuration(server)
    settings.commandTimeout = .milliseconds(100)
    settings.connectTimeout = .milliseconds(100)
    // The machine may pause for longer than that while it is opened.
    var opened: RedisRecordStore?
    for _ in 0..<20 where opened == nil { opened = try? await RedisRecordStore.open(settings) }
    let store = try #require(opened)
    server.suspend()
    await expect(.unavailable) { _ = try await store.record(for: Records.key(1)) }
    server.resume()
    await store.close()
  }

  func hexadecimal(_ key: RecordKey) -> String { key.id.map { String(format: "%02x", $0) }.joined() }
}
