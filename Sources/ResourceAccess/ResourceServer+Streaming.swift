extension ResourceServer {
  /// With which status a response is certainly the last one, so that its body may be handed on as it comes: not where
  /// the answer may be a redirect, a refused token, or a challenge. Those are small; what of them turns out to be the
  /// last is handed on at its end.
  func streams(asksDelegate: Bool) -> @Sendable (Int) -> Bool {
    let refreshOn = refreshOn
    return { status in
      if (300..<400).contains(status) || status == 401 || status == 403 { return false }
      if let refreshOn, refreshOn.contains(status) { return false }
      return !asksDelegate || (200..<300).contains(status)
    }
  }
}
