package import HTTPMessages

/// The keys and key sets that callers may pass to validate a token.
package struct ValidationRules: Sendable {
  /// Whether they may pass a key set.
  package let allowsInlineKeys: Bool
  /// From where they may have one fetched.
  package let keySetOrigins: Set<HTTPURL.Origin>
  /// Whether they may say what time it is.
  package let allowsCallerClock: Bool
  /// Whether `http` is accepted on loopback addresses.
  package let allowsPlainHTTPOnLoopback: Bool
}
