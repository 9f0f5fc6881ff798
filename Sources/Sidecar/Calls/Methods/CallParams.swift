import PosternJSON
import PosternSupport

/// Holds the params of a call until its method takes them: afterwards nothing that waits for the method's end keeps
/// them, and a body of many megabytes is not kept twice.
package final class CallParams: Sendable {
  private let params: Locked<JSONValue?>

  init(_ params: JSONValue?) { self.params = Locked(params) }

  /// The params, without taking them.
  var current: JSONValue? { params.withLock { $0 } }

  /// The params, the first time; nil afterwards.
  func take() -> JSONValue? {
    params.withLock { params in
      defer { params = nil }
      return params
    }
  }
}
