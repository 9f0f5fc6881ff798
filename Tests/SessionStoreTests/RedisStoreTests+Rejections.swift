import Glibc
import PosternSupport
import PosternTestSupport
import SessionRecords
import Testing

@testable import SessionStore

/// The reasons why a server rejects writes while it answers reads.
enum Rejection: String, CaseIterable, CustomTestStringConvertible {
  case memory = "OOM"
  case replicas = "NOREPLICAS"
  case replica = "READONLY"

  var testDescription: String { rawValue }

  func begin(at server: RedisServer) throws {
    switch self {
    case .memory: try server.cli("CONFIG", "SET", "maxmemory", "1")
    case .replicas: try server.cli("CONFIG", "SET", "min-replicas-to-write", "1")
    // Of a server that is not there: what it has it goes on telling.
    case .replica: try server.cli("REPLICAOF", "127.0.0.1", "1")
    }
  }

  func end(at server: RedisServer) throws {
    switch self {
    case .memory: try server.cli("CONFIG", "SET", "maxmemory", "0")
    case .replicas: try server.cli("CONFIG", "SET", "min-replicas-to-write", "0")
    case .replica: try server.cli("REPLICAOF", "NO", "ONE")
    }
  }
}

extension RedisStoreTests {
  @Test("one user's write that the server rejects keeps others from reading", arguments: Rejection.allCases)
  func rejectedWrites(_ rejection: Rejection) async throws {
    let server = try RedisServer(isEncrypted: false)
    let settings = configuration(server)
    // No time passes: whatever waits for a pause waits for ever.
    let store = try await RedisRecordStore.open(settings, clock: ManualClock())
    try await store.insert(Records.record(1))
    try rejection.begin(at: server)
    for number in 2..<5 {
      await expect(.unavailable) { try await store.insert(Records.record(number)) }
      #expect(try await store.record(for: Records.key(1)) == Records.record(1))
      #expect(try await store.records(in: .session, ownedBy: 1000, after: 0, atMost: 10).entries.count == 1)
    }
    // Nor is a write needed to connect: after a loss, or in a process that has just started.
    try server.cli("CLIENT", "KILL", "TYPE", "normal")
    #expect(try await store.record(for: Records.key(1)) == Records.record(1))
    let second = try await RedisRecordStore.open(settings, clock: ManualClock())
    #expect(try await second.record(for: Records.key(1)) == Records.record(1))
    try rejection.end(at: server)
    try await store.insert(Records.record(2))
    #expect(try await second.take(Records.key(2)) == Records.record(2))
    await store.close()
    await second.close()
  }

  @Test(
    "a list of which a record has expired cannot be read where the server rejects writes",
    arguments: Rejection.allCases)
  func rejectedUpkeep(_ rejection: Rejection) async throws {
    let server = try RedisServer(isEncrypted: false)
    let settings = configuration(server)
    let store = try await RedisRecordStore.open(settings, clock: ManualClock())
    for number in 1...2 { try await store.insert(Records.record(number)) }
    // What the server does by itself when the time has come.
    try server.cli("DEL", "postern:{\(settings.name)}:record:session:\(hexadecimal(Records.key(1)))")
    try rejection.begin(at: server)
    let page = try await store.records(in: .session, ownedBy: 1000, after: 0, atMost: 10)
    #expect(page.entries.map(\.record) == [Records.record(2)])
    await store.close()
  }

  @Test("each write connects to a replica again, or none ever finds the server that has replaced it")
  func failover() async throws {
    let (old, new) = (try RedisServer(isEncrypted: false), try RedisServer(isEncrypted: false))
    let settings = configuration(old)
    let clock = ManualClock()
    let store = try await RedisRecordStore.open(settings, clock: clock)
    try await store.insert(Records.record(1))
    try await promote(new, from: old, settings)
    try Rejection.replica.begin(at: old)
    let before = try connectionCount(old)
    for _ in 0..<20 { await expect(.unavailable) { try await store.insert(Records.record(2)) } }
    // This count is one, too.
    #expect(try connectionCount(old) - before == 2)
    // The address leads to another server from now on; who only reads need not know.
    rename("\(new.folder.path)/redis.sock", "\(old.folder.path)/redis.sock")
    clock.advance(by: .seconds(10))
    #expect(try await store.record(for: Records.key(1)) == Records.record(1))
    try await store.insert(Records.record(2))
    #expect(try await store.take(Records.key(2)) == Records.record(2))
    await store.close()
  }

  /// Gives `server` the salt and the keys of the store in `other`, as a replica has them.
  private func promote(
    _ server: RedisServer, from other: RedisServer, _ settings: RedisRecordStore.Configuration
  ) async throws {
    let digits = "gsub('.', function(c) return string.format('%02x', c:byte()) end)"
    let key = "postern:{\(settings.name)}:store"
    let salt = try other.cli("EVAL", "return (redis.call('HGET', KEYS[1], 'salt'):\(digits))", "1", key)
      .filter(\.isHexDigit)
    let bytes = "(ARGV[1]:gsub('..', function(d) return string.char(tonumber(d, 16)) end))"
    try server.cli("EVAL", "redis.call('HSET', KEYS[1], 'salt', \(bytes), 'format', '1')", "1", key, salt)
  }

  private func connectionCount(_ server: RedisServer) throws -> Int {
    let line = try server.cli("INFO", "stats").split(whereSeparator: \.isNewline)
      .first { $0.hasPrefix("total_connections_received:") }
    return try #require(line?.split(separator: ":").last.flatMap { Int($0) })
  }
}
