import PosternCrypto
import PosternSupport
import SessionRecords

/// The one connection of a store, made when it is needed and again, after a growing pause, when it was lost. What the
/// server says no to costs the command and not the connection: others can be answered over it. Used by one thread.
final class RedisLink {
  /// A connection and what is known of the store behind it.
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
  private var pause = GrowingPause()
  /// Between connections that are made because the server that answers is not the one that takes writes.
  private var replicaPause = GrowingPause()

  init(_ configuration: RedisRecordStore.Configuration, address: RedisAddress, clock: any EngineClock) {
    self.configuration = configuration
    self.address = address
    self.clock = clock
    keys = RedisKeys(prefix: "postern:{\(configuration.name)}")
  }

  /// Connects, unless that has been done.
  func open() throws(StoreError) { _ = try connected() }

  func close() { live = nil }

  /// Runs a script. With `isRepeatable` it is sent a second time when the answer to the first was lost.
  func evaluate(
    _ script: String, keys: [[UInt8]], _ arguments: [[UInt8]] = [], isRepeatable: Bool = true
  ) throws(StoreError) -> RedisReply {
    let command = Self.command(script, keys, arguments)
    if !isRepeatable { probe() }
    let reply = try answer(to: command, isRepeatable: isRepeatable)
    // It has done nothing. After a failover the address may lead to another server, which this connection does not.
    guard Self.isFromReplica(reply), connectedAnew() else { return try checked(reply) }
    let second = try answer(to: command, isRepeatable: isRepeatable)
    if !Self.isFromReplica(second) { replicaPause = GrowingPause() }
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
    if let lastFailure, !pause.isOver(at: clock.monotonicNow) { throw lastFailure }
    do throws(StoreError) {
      let live = try connection()
      self.live = live
      lastFailure = nil
      pause = GrowingPause()
      return live
    } catch { throw noted(error) }
  }

  private func connection() throws(StoreError) -> Live {
    let connection = try RedisConnection(configuration, to: address)
    return Live(connection: connection, ciphers: try meet(connection))
  }

  /// Remembers a failure, so that nobody waits for a server that is not there.
  private func noted(_ error: StoreError) -> StoreError {
    lastFailure = error
    pause.begin(at: clock.monotonicNow)
    return error
  }

  /// Puts a new connection in the place of one to a replica, which serves reads until then, and on when that fails.
  /// False also while it is too early to try again.
  private func connectedAnew() -> Bool {
    guard replicaPause.isOver(at: clock.monotonicNow) else { return false }
    let next = try? connection()
    // What the attempt took does not count: others are to have their turn between two.
    replicaPause.begin(at: clock.monotonicNow)
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

  /// Finds out whether a kept connection still lives, before a command that cannot be repeated.
  private func probe() {
    guard let live else { return }
    do throws(RedisConnection.Failure) { _ = try live.connection.call([Array("PING".utf8)]) } catch { self.live = nil }
  }

  private static func command(_ script: String, _ keys: [[UInt8]], _ arguments: [[UInt8]]) -> [[UInt8]] {
    [Array("EVAL".utf8), Array(script.utf8), Array(String(keys.count).utf8)] + keys + arguments
  }

  /// The answer, unless it is an error. Of that only the first word is passed on: the rest may quote the command.
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

  /// Whether a server says that it is a replica that cannot do this. Before version 7 what a script was told stands in
  /// its own error.
  private static func isFromReplica(_ reply: RedisReply) -> Bool {
    guard case .error(let text) = reply else { return false }
    return text.startsWithBytes(of: "READONLY ") || text.startsWithBytes(of: "MASTERDOWN ")
      || text.containsBytes(of: "-READONLY ")
  }
}
