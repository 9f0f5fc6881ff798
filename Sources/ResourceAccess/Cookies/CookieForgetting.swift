public import PosternSupport
public import Sessions

/// Removes the cookies of a session when it ends, before another observer sees that.
public struct CookieForgetting: SessionObserver {
  private let jars: CookieJars
  private let next: (any SessionObserver)?

  /// Passes events on to `next`, if there is one, after the cookies are removed.
  public init(from jars: CookieJars, then next: (any SessionObserver)?) {
    self.jars = jars
    self.next = next
  }

  /// Removes the cookies of a session that has ended, and passes the event on.
  public func observe(_ event: SessionEvent) {
    if case .ended(let handle, _, _) = event { jars.forget(session: handle) }
    next?.observe(event)
  }
}

extension CookieForgetting: ConciseStringConvertible {}
