import NIOCore
import NIOHTTP1

/// The limits for one caller: every input of the playground is bounded here.
enum Limits {
  /// The largest request body that is read; a larger one is answered with 413.
  static let bodyBytes = 1 << 20
  /// How much of a body that is too large is read and thrown away, so that its sender gets to see the 413.
  static let discardedBytes = 64 << 20
  /// The most connections at one time; further ones are closed at once.
  static let connections = 1024
  /// A connection on which nothing moves in either direction for this long is closed.
  static let idle = TimeAmount.seconds(120)
  /// The most parameters in one form or query.
  static let formParameters = 256
  /// The longest answer of `bytes/{n}`.
  static let patternBytes = 4 << 30
  /// How often a misbehaving server repeats what it sends without end, for a client that does not stop it.
  static let floodTimes = 1 << 16
  /// The longest wait of `slow` and of the fault of that name, in milliseconds.
  static let delayMilliseconds = 60_000

  /// The most codes, transactions, sessions, device codes and refresh token families at one time, of each.
  static let entries = 50_000
  /// The most identifiers of proofs and assertions stored at one time.
  static let replayEntries = 100_000
  /// The most refresh tokens of one family of which the history is kept.
  static let familyHistory = 1000
  /// The longest value of a parameter of an authorization request, in bytes.
  static let authorizationParameterBytes = 8 << 10

  /// Bounds on the header block, applied by the decoder while it reads: beyond them 400 and the end of the connection.
  static var decoder: NIOHTTPDecoderLimitConfiguration {
    var limits = NIOHTTPDecoderLimitConfiguration()
    limits.maxHeaderFieldSize = 32 << 10
    limits.maxHeaderListSize = 64 << 10
    limits.maxHeaderFieldCount = 128
    return limits
  }
}
