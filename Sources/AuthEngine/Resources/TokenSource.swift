import Support

/// Where one fetch gets its token and its replacement from.
protocol TokenSource: Sendable {
  /// A fresh token, or one newer than `rejected`.
  func token(
    replacing rejected: AccessToken?, deadline: Deadline, trace: TraceContext?
  ) async throws(ResourceError) -> AccessToken
}
