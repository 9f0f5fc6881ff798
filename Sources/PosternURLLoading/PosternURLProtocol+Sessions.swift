public import AuthEngine
public import Foundation
import PosternSupport

#if canImport(FoundationNetworking)
  public import FoundationNetworking
#endif

extension PosternURLProtocol {
  private static let warnings = Locked(LoadingWarnings())

  /// Takes warnings, each once: about a registration without effect, and a policy without a delegate. They are written
  /// to standard error unless another function is set here.
  public static var warningHandler: @Sendable (String) -> Void {
    get { warnings.withLock { $0.handler } }
    set { warnings.withLock { $0.handler = newValue } }
  }

  static func warn(_ text: String) { LoadingWarnings.tell(text, through: warnings) }

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

/// Reports mistakes whose only effect is that the engine is not used, each of them once in a process.
struct LoadingWarnings: Sendable {
  var handler: @Sendable (String) -> Void = { text in
    FileHandle.standardError.write(Data("warning: postern: \(text)\n".utf8))
  }
  private var reported: Set<String> = []

  /// Whether `text` has not been reported yet.
  private mutating func isNew(_ text: String) -> Bool { reported.insert(text).inserted }

  static func tell(_ text: String, through warnings: Locked<LoadingWarnings>) {
    let handler = warnings.withLock { $0.isNew(text) ? $0.handler : nil }
    handler?(text)
  }
}
