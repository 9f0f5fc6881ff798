import CPosternHiredis
import PosternSupport
import SessionRecords

/// A connection to the server, logged in and with its database chosen; used by one thread.
final class RedisConnection {
  /// A call that got no answer.
  struct Failure: Error {
    let error: StoreError
    /// Whether the server may have seen the command.
    let wasSent: Bool
  }

  private let handle: OpaquePointer
  private let name: String
  private let commandTimeout: Int32

  /// Connects within the configured times.
  init(_ configuration: RedisRecordStore.Configuration, to address: RedisAddress) throws(StoreError) {
    name = address.description
    let connectTimeout = Self.milliseconds(configuration.connectTimeout)
    commandTimeout = Self.milliseconds(configuration.commandTimeout)
    handle = try Self.connect(to: address, caFile: configuration.caFile, timeout: connectTimeout, name: name)
    if let password = configuration.password {
      // A user by itself would be one without a password: the server's default user is meant.
      let credentials = configuration.username.map { [$0, password.reveal()] } ?? [password.reveal()]
      try begin(["AUTH"] + credentials, "rejects the user or the password")
    }
    if address.database != 0 { try begin(["SELECT", String(address.database)], "has no database \(address.database)") }
  }

  deinit { chiredis_close(handle) }

  /// Sends a command and waits for its answer. After a failure the connection is invalid.
  func call(_ arguments: [[UInt8]]) throws(Failure) -> RedisReply {
    var sent: Int32 = 0
    var message = Self.emptyMessage
    var bytes: [UInt8] = []
    for argument in arguments { bytes += argument }
    let lengths = arguments.map(\.count)
    let reply = bytes.withUnsafeBytes { bytes -> OpaquePointer? in
      // An empty argument still needs an address.
      let start = bytes.baseAddress.map { $0.assumingMemoryBound(to: CChar.self) }
      var offset = 0
      var pointers = lengths.map { length -> UnsafePointer<CChar>? in
        defer { offset += length }
        return start.map { $0 + offset }
      }
      return chiredis_command(
        handle, Int32(clamping: lengths.count), &pointers, lengths, commandTimeout, &sent, &message)
    }
    guard let reply else {
      throw Failure(error: Self.unavailable(name, message), wasSent: sent != 0)
    }
    defer { chiredis_reply_free(reply) }
    return RedisReply(reply)
  }

  private func begin(_ command: [String], _ problem: String) throws(StoreError) {
    do throws(Failure) {
      let answer = try call(command.map { Array($0.utf8) })
      // The server's message may quote the command.
      guard case .error(let text) = answer else { return }
      let error =
        text.startsWithBytes(of: "LOADING")
        ? StoreError(.unavailable, "Redis at \(name) is still loading")
        : StoreError(.unusable, "Redis at \(name) \(problem)")
      throw Failure(error: error, wasSent: true)
    } catch { throw error.error }
  }

  private static func connect(
    to address: RedisAddress, caFile: String?, timeout: Int32, name: String
  ) throws(StoreError) -> OpaquePointer {
    var message = emptyMessage
    switch address.location {
    case .unix(let path):
      guard let handle = chiredis_connect(nil, 0, path, timeout, &message) else { throw unavailable(name, message) }
      return handle
    case .tcp(let host, let port):
      guard let handle = chiredis_connect(host, Int32(port), nil, timeout, &message) else {
        throw unavailable(name, message)
      }
      if address.isEncrypted, chiredis_start_tls(handle, host, caFile, timeout, &message) != 0 {
        chiredis_close(handle)
        throw unavailable(name, message)
      }
      return handle
    }
  }

  private static var emptyMessage: [CChar] { [CChar](repeating: 0, count: Int(CHIREDIS_MESSAGE_SIZE)) }

  private static func unavailable(_ name: String, _ message: [CChar]) -> StoreError {
    let text = message.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }
    return StoreError(.unavailable, "Redis at \(name): \(String(decoding: text, as: UTF8.self))")
  }

  private static func milliseconds(_ duration: Duration) -> Int32 {
    Int32(clamping: max(1, duration.wholeMilliseconds))
  }
}
