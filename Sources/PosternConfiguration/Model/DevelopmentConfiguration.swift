/// Switches that only development may need. Each one that is on warns at start and shows in `getInfo`.
public struct DevelopmentConfiguration: Sendable, Equatable {
  /// Whether `http://` upstreams are allowed on 127.0.0.0/8 and `::1`. Default false.
  public var plainHTTPOnLoopback: Bool
  /// Whether callers may set `now` when they have a token validated. Default false.
  public var callerClock: Bool

  /// The switches that are on, by their keys.
  public var activeSwitches: [String] {
    [plainHTTPOnLoopback ? "plainHTTPOnLoopback" : nil, callerClock ? "callerClock" : nil].compactMap { $0 }
  }
}

extension DevelopmentConfiguration: ConfigurationSection {
  init(reading keys: SectionReader) {
    plainHTTPOnLoopback = keys.value(
      "plainHTTPOnLoopback", .boolean, default: false, "Allows http:// upstreams on 127.0.0.0/8 and [::1].")
    callerClock = keys.value(
      "callerClock", .boolean, default: false, "Lets callers set now in validateIdToken and its relatives.")
    for name in activeSwitches { keys.warn("a development switch is on", at: name) }
  }
}
