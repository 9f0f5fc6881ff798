public import AuthEngine
public import Foundation
import PosternSupport

#if canImport(FoundationNetworking)
  public import FoundationNetworking
#endif

extension PosternURLProtocol {
  /// Takes warnings, each once: about a registration without effect, and a policy without a delegate. That of all
  /// warnings of the library (`LibraryWarnings`).
  public static var warningHandler: @Sendable (String) -> Void {
    get { LibraryWarnings.handler }
    set { LibraryWarnings.handler = newValue }
  }

  static func warn(_ text: String) { LibraryWarnings.report(text) }

  /// Makes a session whose requests to `resources` go through the engine: puts this class first in the
  /// `protocolClasses` of `configuration`, and makes a session of it.
  ///
  /// Set `resources` and the policies before. Settings without an effect are thrown here as `invalid_params`: no
  /// resources, a policy for URLs that no resource has, an authorization policy without a delegate, or without the
  /// session of a user that its resource requires.
  public static func makeSession(
    configuration: URLSessionConfiguration = .default, delegate: (any URLSessionDelegate)? = nil,
    delegateQueue: OperationQueue? = nil
  ) throws(ResourceError) -> URLSession {
    try checkRules()
    let others = (configuration.protocolClasses ?? []).filter { $0 != PosternURLProtocol.self }
    configuration.protocolClasses = [PosternURLProtocol.self] + others
    return URLSession(configuration: configuration, delegate: delegate, delegateQueue: delegateQueue)
  }

  /// Whether requests of `session` reach this class first.
  ///
  /// A session copies its configuration when it is made: later changes of the configuration have no effect. On Linux,
  /// `URLProtocol.registerClass` has none either, before or after: Foundation uses registered classes only for URLs
  /// that it cannot load itself.
  public static func isInstalled(in session: URLSession) -> Bool {
    session.configuration.protocolClasses?.first == PosternURLProtocol.self
  }
}
