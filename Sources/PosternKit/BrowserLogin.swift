import AuthEngine
import LoopbackLogin
import PosternSupport

/// Waits for the browser of one login on a loopback address.
final class BrowserLogin: @unchecked Sendable {
  // Sendable because one call at a time uses `receiver`, on its own thread.
  private var receiver: LoopbackReceiver
  /// Where the browser comes back to.
  let redirectURI: String

  /// Listens at `redirect`.
  init(at redirect: LoopbackRedirect) throws(SessionError) {
    do throws(LoopbackReceiver.Failure) {
      receiver = try LoopbackReceiver(at: redirect, note: { _ in })
    } catch {
      throw .grantNotSupported(error.description)
    }
    redirectURI = receiver.redirectURI
  }

  /// The result of `complete` for the URL that the browser comes back to. Any page in the browser can open the
  /// callback: after an error that `isStray` the wait goes on. `failing` converts the errors of the wait.
  func result<Value, Failure: Error>(
    by deadline: Deadline, failing: (SessionError) -> Failure, isStray: (Failure) -> Bool,
    _ complete: (_ url: String) async throws(Failure) -> Value
  ) async throws(Failure) -> Value {
    while true {
      let visit: LoopbackReceiver.Visit
      do throws(SessionError) {
        visit = try await nextVisit(by: deadline)
      } catch {
        throw failing(error)
      }
      do throws(Failure) {
        let value = try await complete(visit.url)
        visit.answer(.done)
        return value
      } catch {
        visit.answer(isStray(error) ? .notThisLogin : .failed)
        guard isStray(error) else { throw error }
      }
    }
  }

  /// Whether the error is that of a callback of an unknown state, or one that cannot be read.
  static func isStray(_ error: SessionError) -> Bool {
    switch error.kind {
    case .stateUnknown, .invalid: true
    default: false
    }
  }

  private func nextVisit(by deadline: Deadline) async throws(SessionError) -> LoopbackReceiver.Visit {
    let isCancelled = Locked(false)
    let result: Result<UncheckedVisit, LoopbackReceiver.Failure> = await withTaskCancellationHandler {
      await BlockingCall.run { [self] in
        do throws(LoopbackReceiver.Failure) {
          return .success(
            UncheckedVisit(
              visit: try receiver.nextVisit(by: deadline, isCancelled: { isCancelled.withLock { $0 } })))
        } catch {
          return .failure(error)
        }
      }
    } onCancel: {
      isCancelled.withLock { $0 = true }
    }
    switch result {
    case .success(let visit): return visit.visit
    case .failure(let failure):
      throw isCancelled.withLock({ $0 })
        ? SessionError(.cancelled, "cancelled while the user logs in")
        : SessionError(.deadlineExceeded, failure.description)
    }
  }

  /// A visit on its way from the thread that waited for it.
  private struct UncheckedVisit: @unchecked Sendable {
    // Sendable because the thread that made it has ended with it.
    let visit: LoopbackReceiver.Visit
  }
}
