public import Glibc

/// A value behind a pthread mutex.
///
/// Not `Synchronization.Mutex`: ThreadSanitizer cannot see that one with this toolchain and reports false races.
/// Never call out (resume a continuation, run a caller's closure) while holding it. Put a closure into a struct: as the
/// value itself each access wraps it once more, until a call of it needs more stack than there is.
///
/// Inlinable, so that each use is compiled for its own value: every call takes some locks, and without that each of
/// them looks up the types of value and result at run time.
public final class Locked<Value>: @unchecked Sendable {
  // Sendable because `value` is only touched between lock and unlock of `mutex`.
  @usableFromInline let mutex: UnsafeMutablePointer<pthread_mutex_t>
  @usableFromInline var value: Value

  /// Takes ownership of `value`; afterwards it is reachable only through `withLock`.
  @inlinable
  public init(_ value: sending Value) {
    mutex = .allocate(capacity: 1)
    mutex.initialize(to: pthread_mutex_t())
    pthread_mutex_init(mutex, nil)
    self.value = value
  }

  @inlinable
  deinit {
    pthread_mutex_destroy(mutex)
    mutex.deinitialize(count: 1)
    mutex.deallocate()
  }

  /// Runs `body` with exclusive access to the value.
  @inlinable
  public func withLock<Result: ~Copyable, Failure: Error>(
    _ body: (inout Value) throws(Failure) -> Result
  ) throws(Failure) -> Result {
    pthread_mutex_lock(mutex)
    defer { pthread_mutex_unlock(mutex) }
    return try body(&value)
  }
}

extension Locked: ConciseStringConvertible {
  /// Without the value, which another thread may be changing.
  public var description: String { "a value behind a lock" }
}
