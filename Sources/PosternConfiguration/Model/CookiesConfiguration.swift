/// Whether and how many cookies of a resource are kept.
public struct CookiesConfiguration: Sendable, Equatable {
  /// Whether any are kept. Default false.
  public var areStored: Bool
  /// The most cookies of one caller. Default 50.
  public var maxCookies: Int
  /// The most bytes of one caller's cookies. Default 64 KiB.
  public var maxBytes: Int
}

extension CookiesConfiguration: ConfigurationSection {
  init(reading keys: SectionReader) {
    areStored = keys.value(
      "store", .boolean, default: false,
      "Whether cookies are kept, in memory, for each user id, session and resource by itself (RFC 6265).")
    maxCookies = keys.value(
      "maxCookies", .integer(1...1000), default: 50, "Cookies of one session, or of one user id without session.")
    maxBytes = keys.value(
      "maxBytes", .size(1024...(1 << 20)), default: 64 << 10, "Names, values, domains and paths of those together.")
  }
}
