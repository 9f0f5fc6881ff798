import HTTPMessages

/// What callers may bring along to have a token validated.
struct ValidationRules: Sendable {
  /// Whether they may pass a key set.
  let allowsInlineKeys: Bool
  /// From where they may have one fetched.
  let keySetOrigins: Set<HTTPURL.Origin>
  /// Whether they may say what time it is.
  let allowsCallerClock: Bool
  /// Whether `http` is accepted on loopback addresses.
  let allowsPlainHTTPOnLoopback: Bool
}
