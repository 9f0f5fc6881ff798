public import AuthEngine
import Foundation
import PosternSupport

#if canImport(FoundationNetworking)
  public import FoundationNetworking
#endif

/// Puts the engine behind a `URLSession`: tokens, renewal and step-up for code that knows nothing of them.
///
/// Tell it the `resources` and make sessions with `makeSession`, or put it first in a configuration's `protocolClasses`
/// before a session is made of it: the session's requests to these servers are carried out as `ResourceFetcher` carries
/// them out, with its rules, bounds and errors; all others go their usual way. Without a token the request fails
/// instead of going out unauthenticated. What stands here holds for the whole process. `URLProtocol.registerClass`, and
/// whatever is changed of a configuration after its session was made, have no effect on Linux: see `isInstalled(in:)`.
///
/// An answer comes whole: it is bounded by the server's `maxBodyBytes`. Redirects within the server's URLs are
/// followed, all others are the answer. Nothing is cached. `timeoutInterval` bounds the whole fetch; it stands still
/// while the task is suspended, as the fetch does. Of a field that comes twice the values stand in one, as
/// `HTTPURLResponse` has them.
///
/// Data and upload tasks work, with a delegate, with a completion handler and awaited. An upload task's body must be in
/// the request: `URLSession` does not show another to a protocol. A download task fails on Linux with
/// `URLError.cannotCreateFile` before anything is sent: swift-corelibs-foundation has no way for a protocol to hand it
/// a file.
public final class PosternURLProtocol: URLProtocol {
  private enum Course {
    case idle
    /// The body is being read; whether the session's task is suspended meanwhile.
    case preparing(isHeld: Bool)
    case running(NetworkTask)
    case over
  }

  private static let rules = Locked(LoadingRules())
  private let course = Locked(Course.idle)

  /// The resource servers whose requests go through the engine; of several that cover a URL the first.
  public static var resources: [ProtectedResource] {
    get { rules.withLock { $0.resources } }
    set { rules.withLock { $0.resources = newValue } }
  }

  /// Which of their requests carry tokens, and who decides that one must be renewed; nil: all, by the servers' own
  /// rules, unless there is an `authorizationPolicy`.
  public static var tokenManagementPolicy: TokenManagementPolicy? {
    get { rules.withLock { $0.tokenManagementPolicy } }
    set { rules.withLock { $0.tokenManagementPolicy = newValue } }
  }

  /// In which of their answers policy advice is looked for, and who satisfies it; nil: as the resources' own options
  /// say. It never causes a token to be sent.
  ///
  /// It needs the rest: a `tokenManagementPolicy` that says which requests carry tokens, a user's session, rules of the
  /// server (`advice`). Without one of these `makeSession` throws, and a request of the policy's fails before anything
  /// is sent.
  public static var authorizationPolicy: AuthorizationPolicy? {
    get { rules.withLock { $0.authorizationPolicy } }
    set { rules.withLock { $0.authorizationPolicy = newValue } }
  }

  static func checkRules() throws(ResourceError) { try rules.withLock { $0 }.check() }

  #if canImport(FoundationNetworking)
    /// Registers the class and warns: on Linux requests for http and https never come to a class that is only
    /// registered. Use `makeSession`, or a configuration's `protocolClasses` before its session is made.
    @discardableResult
    public override class func registerClass(_ protocolClass: AnyClass) -> Bool {
      warn(
        "URLProtocol.registerClass has no effect on http and https with swift-corelibs-foundation, whenever a "
          + "session is made: use PosternURLProtocol.makeSession, or name the class in a configuration's "
          + "protocolClasses before its session is made")
      return super.registerClass(protocolClass)
    }
  #endif

  /// Whether the request goes through the engine.
  public override class func canInit(with request: URLRequest) -> Bool {
    rules.withLock { $0 }.resource(for: request) != nil
  }

  /// The request as it is.
  public override class func canonicalRequest(for request: URLRequest) -> URLRequest { request }

  /// Begins the fetch, or lets it go on: swift-corelibs-foundation starts anew what it stopped when its task was
  /// suspended, and whatever is resumed twice.
  public override func startLoading() {
    // Foundation's call for a task that is resumed twice can come after the one that stops it.
    let isHeld = isSuspended
    let (isFirst, held) = course.withLock { course -> (Bool, NetworkTask?) in
      switch course {
      case .idle:
        course = .preparing(isHeld: isHeld)
        return (true, nil)
      case .preparing:
        course = .preparing(isHeld: isHeld)
        return (false, nil)
      case .running(let task): return (false, isHeld ? nil : task)
      case .over: return (false, nil)
      }
    }
    held?.resume()
    if isFirst { begin() }
  }

  /// Ends the fetch of a task that was cancelled; nothing is said of it any more. That of a task that was suspended is
  /// held.
  public override func stopLoading() {
    guard isCancelled else { return hold() }
    let before = course.withLock { course in
      let before = course
      course = .over
      return before
    }
    if case .running(let task) = before { task.cancel() }
  }

  /// The largest body that is read from a stream: as much as a message to the sidecar may have.
  private static let maxBodyBytes = 16 << 20

  /// Elsewhere only what is cancelled is stopped. That a task runs when it is stopped means that it has been resumed
  /// since.
  private var isCancelled: Bool {
    #if canImport(FoundationNetworking)
      guard let state = task?.state else { return true }
      return state != .running && state != .suspended
    #else
      return true
    #endif
  }

  /// Whether the session's task is suspended. It is resumed before it is started again.
  private var isSuspended: Bool {
    #if canImport(FoundationNetworking)
      return task?.state == .suspended
    #else
      return false
    #endif
  }

  private func hold() {
    let running = course.withLock { course -> NetworkTask? in
      switch course {
      case .preparing:
        course = .preparing(isHeld: true)
        return nil
      case .running(let task): return task
      case .idle, .over: return nil
      }
    }
    running?.suspend()
  }

  private func begin() {
    let rules = Self.rules.withLock { $0 }
    guard let resource = rules.resource(for: request) else {
      return fail(URLError(.unsupportedURL, detail: "no resource covers the URL any more"))
    }
    if let refusal = Self.refusal(of: task, request) { return fail(refusal) }
    if rules.looksForAdvice(in: request) {
      if let obstacle = rules.obstacle(for: resource) { return fail(URLError(obstacle)) }
      if rules.authorizationPolicy?.hasDelegate == false { Self.warn(LoadingRules.noDelegate) }
    }
    var options = rules.options(for: resource)
    if options.timeout == nil { options.timeout = .bounding(request.timeoutInterval) }
    guard let stream = request.httpBodyStream else { return load(request.httpBody, resource, options) }
    // What a protocol's object is used for here may be done on any thread; Foundation does not say so.
    nonisolated(unsafe) let (loading, source) = (self, stream)
    // A stream may keep its reader waiting for as long as it likes: not on a thread that others need.
    Thread.detachNewThread { [options] in
      do throws(URLError) {
        loading.load(try source.contents(atMost: Self.maxBodyBytes), resource, options)
      } catch {
        loading.fail(error)
      }
    }
  }

  private func load(_ body: Data?, _ resource: ProtectedResource, _ options: FetchOptions) {
    let message = ResourceRequest(request, body: body)
    let task = NetworkTask(request: message, clock: SystemClock())
    var options = options
    options.task = task
    guard adopt(task) else { return }
    nonisolated(unsafe) let loading = self
    resource.fetcher.fetch(message, from: resource.server, options: options) { result in loading.finish(result) }
  }

  /// Makes `task` the one that runs, held where the session's task is suspended; false when nobody waits for it any
  /// more.
  private func adopt(_ task: NetworkTask) -> Bool {
    while true {
      guard case .preparing(let isHeld) = course.withLock({ $0 }) else { return false }
      if isHeld { task.suspend() } else { task.resume() }
      let isAdopted = course.withLock { course in
        // Not while the lock is held: suspended or resumed meanwhile, it is looked at again.
        guard case .preparing(let isHeldNow) = course, isHeldNow == isHeld else { return false }
        course = .running(task)
        return true
      }
      if isAdopted { return true }
    }
  }

  private func finish(_ result: Result<ResourceResponse, ResourceError>) {
    switch result {
    case .success(let response): deliver(response)
    // What the policy asks for was not done: the answer is the one that asked.
    case .failure(let error) where error.stop?.response != nil: error.stop?.response.map { deliver($0) }
    case .failure(let error): fail(URLError(error))
    }
  }

  private func deliver(_ response: ResourceResponse) {
    guard let head = HTTPURLResponse(response) else {
      return fail(URLError(.badServerResponse, detail: "the answer cannot be expressed"))
    }
    guard isLast() else { return }
    client?.urlProtocol(self, didReceive: head, cacheStoragePolicy: .notAllowed)
    if !response.body.isEmpty { client?.urlProtocol(self, didLoad: Data(response.body)) }
    client?.urlProtocolDidFinishLoading(self)
  }

  private func fail(_ error: URLError) {
    guard isLast() else { return }
    client?.urlProtocol(self, didFailWithError: error)
  }

  /// Whether there is still somebody to tell; they are told once.
  private func isLast() -> Bool {
    course.withLock { course in
      if case .over = course { return false }
      course = .over
      return true
    }
  }
}
