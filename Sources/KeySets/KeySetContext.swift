import OAuthClient
import PosternSupport

/// What all key sources of one engine share.
final class KeySetContext: Sendable {
  let upstream: Upstream
  let discovery: ProviderDiscovery
  let observer: (any KeySetObserver)?
  private let attempts = Locked<UInt64>(0)

  init(upstream: Upstream, discovery: ProviderDiscovery, observer: (any KeySetObserver)?) {
    self.upstream = upstream
    self.discovery = discovery
    self.observer = observer
  }

  /// A number above every earlier one, across sources: one that was dropped and made anew never repeats a sequence.
  func nextAttempt() -> UInt64 {
    attempts.withLock { attempts in
      attempts += 1
      return attempts
    }
  }
}
