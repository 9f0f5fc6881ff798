public import AuthEngine
public import Foundation
import PosternSupport

#if canImport(FoundationNetworking)
  public import FoundationNetworking
#endif

extension PosternURLProtocol {
  private static let warnings = Locked(LoadingWarnings())

  /// Takes warnings, each once: of a registration that has no effect, of a policy without a delegate. They go to
  /// standard error unless something else is set here.
  public static var warningHandler: @Sendable (String) -> Void {
    get { warnings.withLock { $0.handler } }
    set { warnings.withLock { $0.handler = newValue } }
  }

  static func warn(_ text: String) { LoadingWarnings.tell(text, through: warnings) }

  /// Makes a session whose requests to `resources` go through the engine: puts this class first in the
  /// `protocolClasses` of `configuration`, and makes a session of it.
  ///
  /// Set `resources` and the policies before. What of them has no effect is thrown here as `invalid_params`: no
  /// resources, a policy for URLs that no resource has, an authorization policy without what it needs (a delegate, a
  /// token policy, a user's session, the server's `advice` rules).
  public static func makeSession(
    configuration: URLSessionConfiguration = .default, delegate: (any URLSessionDelegate)? = nil,
    delegateQueue: OperationQueue? = nil
  ) throws(ResourceError) -> URLSession {
    try checkRules()
    let others = (configuration.protocolClasses ?? []).filter { $0 != PosternURLProtocol.self }
    configuration.protocolClasses = [PosternURLProtocol.self] + others
    return URLSession(configuration: configuration, delegate: delegate, delegateQueue: delegateQueue)
  }

  /// Whether requests of `session` come here first.
  ///
  /// A session copies its configuration when it is made: what is changed in the configuration later has no effect. On
  /// Linux neither has `URLProtocol.registerClass`, before or after: Foundation asks registered classes only about URLs
  /// that it cannot load itself.
  public static func isInstalled(in session: URLSession) -> Bool {
    session.configuration.protocolClasses?.first == PosternURLProtocol.self
  }
}
