import AuthEngine
import Crypto
import Support

/// The one connection of a store, made when it is needed and again, after a growing pause, when it was lost. Used by one
/// thread.
final class RedisLink {
  /// A connection and what is known of the store behind it.
  private struct Live {
    let connection: RedisConnection
    /// The current key's first.
    let ciphers: [RecordCipher]
  }

  private static let shortestPause = Duration.milliseconds(100)
  private static let longestPause = Duration.seconds(5)
  private static let format = Array("1".utf8)

  let keys: RedisKeys
  private let configuration: RedisRecordStore.Configuration
  private let address: RedisAddress
  private let clock: any EngineClock
  private var live: Live?
  private var pause = shortestPause
  private var lastFailure: (error: StoreError, retryAt: MonotonicInstant)?

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
    if !isRepeatable { try probe() }
    let isFresh = live == nil
    let connection = try connected().connection
    do throws(RedisConnection.Failure) { return try checked(try connection.call(command)) } catch {
      live = nil
      // A connection that was kept may have ended long ago; one that was made just now did not.
      guard !isFresh, isRepeatable || !error.wasSent else { throw noted(error.error) }
    }
    let second = try connected().connection
    do throws(RedisConnection.Failure) { return try checked(try second.call(command)) } catch {
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
    if let lastFailure, clock.monotonicNow < lastFailure.retryAt { throw lastFailure.error }
    do throws(StoreError) {
      let connection = try RedisConnection(configuration, to: address)
      let live = Live(connection: connection, ciphers: try meet(connection))
      self.live = live
      lastFailure = nil
      pause = Self.shortestPause
      return live
    } catch { throw noted(error) }
  }

  /// Remembers a failure, so that nobody waits for a server that is not there.
  private func noted(_ error: StoreError) -> StoreError {
    lastFailure = (error, clock.monotonicNow + pause)
    pause = min(pause * 2, Self.longestPause)
    return error
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
    do throws(RedisConnection.Failure) {
      return try checked(try connection.call(Self.command(script, keys, arguments)))
    } catch { throw error.error }
  }

  /// Finds out whether a kept connection still lives, before a command that cannot be repeated.
  private func probe() throws(StoreError) {
    guard let live else { return }
    do throws(RedisConnection.Failure) { _ = try live.connection.call([Array("PING".utf8)]) } catch { self.live = nil }
  }

  private static func command(_ script: String, _ keys: [[UInt8]], _ arguments: [[UInt8]]) -> [[UInt8]] {
    [Array("EVAL".utf8), Array(script.utf8), Array(String(keys.count).utf8)] + keys + arguments
  }

  /// The answer, unless it is an error. Of that only the first word is passed on: the rest may quote the command.
  private func checked(_ reply: RedisReply) throws(RedisConnection.Failure) -> RedisReply {
    guard case .error(let text) = reply else { return reply }
    let code = text.prefix { $0.isASCII && ($0.isUppercase || $0.isNumber) }
    let kind: StoreError.Kind =
      switch code {
      case "NOAUTH", "NOPERM", "WRONGPASS": .unusable
      case "WRONGTYPE": .corrupted
      // LOADING, READONLY, OOM, MISCONF, MASTERDOWN, BUSY …
      default: .unavailable
      }
    let detail = "Redis at \(address.description) answers \(code.isEmpty ? "an error" : String(code))"
    throw RedisConnection.Failure(error: StoreError(kind, detail), wasSent: true)
  }
}
