public import Sessions

/// Between sessions and whoever observes them: takes the cookies of a session away when it ends.
public struct CookieForgetting: SessionObserver {
  private let jars: CookieJars
  private let next: any SessionObserver

  /// Tells `next` after the cookies are gone.
  public init(from jars: CookieJars, then next: any SessionObserver) {
    self.jars = jars
    self.next = next
  }

  /// Takes part, and tells the next.
  public func observe(_ event: SessionEvent) {
    if case .ended(let handle, _, _) = event { jars.forget(session: handle) }
    next.observe(event)
  }
}
