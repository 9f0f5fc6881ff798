import PosternCrypto
import PosternSupport
import SessionRecords

/// The one connection of a store, made when it is needed, and again, with a growing delay, when it was lost. An error
/// of the server fails the command and not the connection. Used by one thread.
final class RedisLink {
  /// A connection, with the store's salt and keys.
  private struct Live {
    let connection: RedisConnection
    /// The current key's first.
    let ciphers: [RecordCipher]
  }

  private static let format = Array("1".utf8)

  let keys: RedisKeys
  private let configuration: RedisRecordStore.Configuration
  private let address: RedisAddress
  private let clock: any EngineClock
  private var live: Live?
  private var lastFailure: StoreError?
  private var backoff = Backoff(first: .milliseconds(100), longest: .seconds(5))
  /// The shortest time between connections that are made because the current server accepts no writes.
  private var replicaBackoff = Backoff(first: .milliseconds(100), longest: .seconds(5))

  init(_ configuration: RedisRecordStore.Configuration, address: RedisAddress, clock: any EngineClock) {
    self.configuration = configuration
    self.address = address
    self.clock = clock
    keys = RedisKeys(prefix: "postern:{\(configuration.name)}")
  }

  /// Connects, unless that has been done.
  func open() throws(StoreError) { _ = try connected() }

  func close() { live = nil }

  /// Runs a script. With `isRepeatable` it is retried once when the answer was lost.
  func evaluate(
    _ script: String, keys: [[UInt8]], _ arguments: [[UInt8]] = [], isRepeatable: Bool = true
  ) throws(StoreError) -> RedisReply {
    let command = Self.command(script, keys, arguments)
    if !isRepeatable { probe() }
    let reply = try answer(to: command, isRepeatable: isRepeatable)
    // The command had no effect. After a failover the address may lead to another server than this connection.
    guard Self.isFromReplica(reply), reconnected() else { return try checked(reply) }
    let second = try answer(to: command, isRepeatable: isRepeatable)
    if !Self.isFromReplica(second) { replicaBackoff.succeed() }
    return try checked(second)
  }

  private func answer(to command: [[UInt8]], isRepeatable: Bool) throws(StoreError) -> RedisReply {
    let isFresh = live == nil
    let connection = try connected().connection
    do throws(RedisConnection.Failure) { return try connection.call(command) } catch {
      live = nil
      // A connection that was kept may have ended long ago; one that was made just now did not.
      guard !isFresh, isRepeatable || !error.wasSent else { throw noted(error.error) }
    }
    let second = try connected().connection
    do throws(RedisConnection.Failure) { return try second.call(command) } catch {
      live = nil
      throw noted(error.error)
    }
  }

  func seal(_ record: StoredRecord) throws(StoreError) -> (sealed: SealedRecord, keyID: [UInt8]) {
    guard let cipher = try connected().ciphers.first else { throw StoreError(.unusable, "the store has no key") }
    return (try cipher.seal(record), cipher.keyID)
  }

  func open(_ sealed: SealedRecord, keyID: [UInt8]) throws(StoreError) -> StoredRecord {
    guard let cipher = try connected().ciphers.first(where: { $0.keyID == keyID }) else {
      throw StoreError(.keyMismatch, "\(sealed.key) was written with a key that is not given here")
    }
    return try cipher.open(sealed)
  }

  // MARK: - Connecting

  private func connected() throws(StoreError) -> Live {
    if let live { return live }
    if let lastFailure, !backoff.isOver(at: clock.monotonicNow) { throw lastFailure }
    do throws(StoreError) {
      let live = try connection()
      self.live = live
      lastFailure = nil
      backoff.succeed()
      return live
    } catch { throw noted(error) }
  }

  private func connection() throws(StoreError) -> Live {
    let connection = try RedisConnection(configuration, to: address)
    return Live(connection: connection, ciphers: try meet(connection))
  }

  /// Records a failure, so that no call waits for an unreachable server.
  private func noted(_ error: StoreError) -> StoreError {
    lastFailure = error
    backoff.fail(at: clock.monotonicNow)
    return error
  }

  /// Replaces the connection to a replica, which serves reads until then, and afterwards when that fails. False also
  /// while it is too early for another attempt.
  private func reconnected() -> Bool {
    guard replicaBackoff.isOver(at: clock.monotonicNow) else { return false }
    let next = try? connection()
    // The duration of the attempt does not count: other calls are served between two attempts.
    replicaBackoff.fail(at: clock.monotonicNow)
    if let next { live = next }
    return next != nil
  }

  /// Learns the store's salt, or gives it one, and finds out whether its keys are ours.
  private func meet(_ connection: RedisConnection) throws(StoreError) -> [RecordCipher] {
    let salt = SecureRandom.bytes(RecordCipher.saltByteCount)
    let facts = try ask(connection, RedisScript.begin, [keys.store, keys.keyIDs], [salt]).array ?? []
    guard facts.count == 2, facts[1].bytes == Self.format else {
      throw StoreError(.unusable, "Redis at \(address.description) holds a store of a newer format")
    }
    guard let salt = facts[0].bytes, salt.count == RecordCipher.saltByteCount else {
      throw StoreError(.corrupted, "Redis at \(address.description): the salt of the store was altered")
    }
    var ciphers: [RecordCipher] = []
    for key in [configuration.key] + configuration.previousKeys {
      ciphers.append(try RecordCipher(key: key, salt: salt))
    }
    guard try ask(connection, RedisScript.introduce, [keys.keyIDs], ciphers.map(\.keyID)) == .integer(1) else {
      throw StoreError(
        .keyMismatch, "the store in Redis at \(address.description) was written with another key than the one given")
    }
    return ciphers
  }

  private func ask(
    _ connection: RedisConnection, _ script: String, _ keys: [[UInt8]], _ arguments: [[UInt8]]
  ) throws(StoreError) -> RedisReply {
    let reply: RedisReply
    do throws(RedisConnection.Failure) {
      reply = try connection.call(Self.command(script, keys, arguments))
    } catch { throw error.error }
    return try checked(reply)
  }

  /// Checks whether a kept connection still works, before a command that must not be sent twice.
  private func probe() {
    guard let live else { return }
    do throws(RedisConnection.Failure) { _ = try live.connection.call([Array("PING".utf8)]) } catch { self.live = nil }
  }

  private static func command(_ script: String, _ keys: [[UInt8]], _ arguments: [[UInt8]]) -> [[UInt8]] {
    [Array("EVAL".utf8), Array(script.utf8), Array(String(keys.count).utf8)] + keys + arguments
  }

  /// Returns the answer, unless it is an error. Only the first word of an error is passed on: the rest may quote the
  /// command.
  private func checked(_ reply: RedisReply) throws(StoreError) -> RedisReply {
    guard case .error(let text) = reply else { return reply }
    let code = Substring(text.utf8.prefix { (0x30...0x39).contains($0) || (0x41...0x5A).contains($0) })
    let kind: StoreError.Kind =
      switch code {
      case "NOAUTH", "NOPERM", "WRONGPASS": .unusable
      case "WRONGTYPE": .corrupted
      // LOADING, READONLY, OOM, MISCONF, NOREPLICAS, MASTERDOWN, BUSY …
      default: .unavailable
      }
    // The next one logs in again.
    if code == "NOAUTH" { live = nil }
    throw StoreError(kind, "Redis at \(address.description) answers \(code.isEmpty ? "an error" : String(code))")
  }

  /// Whether the error is that of a replica that cannot do this. Before version 7 a script's error contains it.
  private static func isFromReplica(_ reply: RedisReply) -> Bool {
    guard case .error(let text) = reply else { return false }
    return text.startsWithBytes(of: "READONLY ") || text.startsWithBytes(of: "MASTERDOWN ")
      || text.containsBytes(of: "-READONLY ")
  }
}
