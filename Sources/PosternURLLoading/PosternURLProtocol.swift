public import AuthEngine
import Foundation
import HTTPMessages
import PosternSupport

#if canImport(FoundationNetworking)
  public import FoundationNetworking
#endif

/// Puts the engine behind a `URLSession`: tokens, refresh and step-up for code that knows nothing of them.
///
/// Set the `resources` and make sessions with `makeSession`, or put the class first in a configuration's
/// `protocolClasses` before a session is made of it: `ResourceFetcher` carries out the session's requests to these
/// servers, with its rules, bounds and errors; all others are loaded as usual. Without a token the request fails and is
/// not sent unauthenticated, and so does a request of a policy whose URL no resource has. The settings apply to the
/// whole process. On Linux, `URLProtocol.registerClass` has no
/// effect, nor has a change of a configuration after its session was made: see `isInstalled(in:)`.
///
/// A body is delivered while it arrives, of any size; one that a delegate of a policy may judge, that is decrypted, or
/// that comes with another status than those of success may be delivered as a whole, bounded by the server's
/// `maxBodyBytes`. Redirects within the server's URLs are followed; any other redirect is the answer. Nothing is cached.
/// Several fields of one name are joined, as `HTTPURLResponse` has them.
///
/// The session's configuration has its effects: `httpAdditionalHeaders` (but `User-Agent`), cookies, and the time
/// limits. `timeoutIntervalForRequest`, or a request's own `timeoutInterval`, bounds the time to the response's head and
/// each silence after it, up to `ResourceServer.maxTimeout`; `timeoutIntervalForResource` bounds the whole load. Neither
/// runs while the task, and with it the fetch, is suspended. Cookies of redirects that are followed are not kept.
///
/// Where the `tokenManagementPolicy` covers the URL, its token replaces an `Authorization` that the request has.
///
/// A body from a stream is sent at any size; beyond 16 MiB it is sent once, so that a rejected token is the result.
///
/// Data and upload tasks work, with a delegate, with a completion handler and awaited. An upload task's body must be in
/// the request: `URLSession` does not show another to a protocol. A download task fails on Linux with
/// `URLError.cannotCreateFile` before anything is sent: swift-corelibs-foundation has no way for a protocol to hand it
/// a file.
public final class PosternURLProtocol: URLProtocol {
  private enum Course {
    case idle
    /// The body is being read; whether the session's task is suspended meanwhile.
    case preparing(isPaused: Bool)
    case running(NetworkTask)
    case over
  }

  private static let rules = Locked(LoadingRules())
  private let course = Locked(Course.idle)
  /// The body so far, where the session would keep its last piece only.
  private let gathered = Locked(Data())

  /// The resource servers whose requests go through the engine; of several that cover a URL the first.
  public static var resources: [ProtectedResource] {
    get { rules.withLock { $0.resources } }
    set { rules.withLock { $0.resources = newValue } }
  }

  /// The requests with tokens, and the decision when a token must be refreshed; nil: all requests, by the servers' own
  /// rules, unless there is an `authorizationPolicy`.
  public static var tokenManagementPolicy: TokenManagementPolicy? {
    get { rules.withLock { $0.tokenManagementPolicy } }
    set { rules.withLock { $0.tokenManagementPolicy = newValue } }
  }

  /// The answers that are searched for policy advice, and the delegate that satisfies it; nil: as the resources' own
  /// options are set.
  ///
  /// It puts no token into requests: that is done by the `tokenManagementPolicy` for its own URLs, and where there is
  /// none by the resource, as its server's `authentication` and its options' `session` determine.
  public static var authorizationPolicy: AuthorizationPolicy? {
    get { rules.withLock { $0.authorizationPolicy } }
    set { rules.withLock { $0.authorizationPolicy = newValue } }
  }

  static func checkRules() throws(ResourceError) { try rules.withLock { $0 }.check() }

  #if canImport(FoundationNetworking)
    /// Registers the class and warns: on Linux, requests for http and https never reach a class that is only
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

  /// Whether the request goes through the engine, or is a policy's that fails before anything is sent: no resource has
  /// its URL, or the policy does not allow it.
  public override class func canInit(with request: URLRequest) -> Bool {
    if case .usual = rules.withLock({ $0 }).course(of: request) { return false }
    return true
  }

  /// Returns the request unchanged.
  public override class func canonicalRequest(for request: URLRequest) -> URLRequest { request }

  /// Starts the fetch, or resumes it: swift-corelibs-foundation starts a task again that it stopped when the task was
  /// suspended, and one that is resumed twice.
  public override func startLoading() {
    // For a task that is resumed twice, Foundation's call can come after the one that stops it.
    let isPaused = isSuspended
    let (isFirst, paused) = course.withLock { course -> (Bool, NetworkTask?) in
      switch course {
      case .idle:
        course = .preparing(isPaused: isPaused)
        return (true, nil)
      case .preparing:
        course = .preparing(isPaused: isPaused)
        return (false, nil)
      case .running(let task): return (false, isPaused ? nil : task)
      case .over: return (false, nil)
      }
    }
    paused?.resume()
    if isFirst { begin() }
  }

  /// Cancels the fetch of a cancelled task, without a further report. The fetch of a suspended task is paused.
  public override func stopLoading() {
    guard isCancelled else { return hold() }
    let before = course.withLock { course in
      let before = course
      course = .over
      return before
    }
    if case .running(let task) = before { task.cancel() }
  }

  /// On other platforms only cancelled tasks are stopped. A task that runs when it is stopped has been resumed since.
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
        course = .preparing(isPaused: true)
        return nil
      case .running(let task): return task
      case .idle, .over: return nil
      }
    }
    running?.suspend()
  }

  private func begin() {
    let rules = Self.rules.withLock { $0 }
    let resource: ProtectedResource
    switch rules.course(of: request) {
    case .usual: return fail(URLError(.unsupportedURL, detail: "no resource covers the URL any more"))
    case .rejected(let reason): return fail(URLError(reason))
    case .engine(let found): resource = found
    }
    if let error = Self.unsupported(task, request) { return fail(error) }
    if rules.leavesAdvice(of: request) { Self.warn(LoadingRules.noDelegate) }
    let load = EngineLoad(request, of: task, to: resource, by: rules)
    guard let stream = request.httpBodyStream else { return run(load, request.httpBody) }
    // The uses of a protocol's object here are safe on any thread; Foundation does not declare so.
    nonisolated(unsafe) let loading = self
    let source = StreamedBody(stream)
    Thread.detachNewThread {
      do throws(URLError) {
        if let body = try source.whole() { loading.run(load, body) } else { loading.run(load.uploading(source), nil) }
      } catch {
        loading.fail(error)
      }
    }
  }

  private func run(_ load: EngineLoad, _ body: Data?) {
    let message = load.message(with: body)
    let task = NetworkTask(request: message, clock: SystemClock())
    var options = load.options
    options.task = task
    guard adopt(task) else { return }
    nonisolated(unsafe) let loading = self
    if load.isStreamed {
      options.deliverHead = { head in loading.receive(head, load) }
      options.deliver = { piece in loading.receive(piece, load) }
    }
    load.fetcher.fetch(message, from: load.server, options: options) { result in loading.finish(result, load) }
  }

  /// Makes `task` the running one, paused where the session's task is suspended; false when the load has been stopped.
  private func adopt(_ task: NetworkTask) -> Bool {
    while true {
      guard case .preparing(let isPaused) = course.withLock({ $0 }) else { return false }
      if isPaused { task.suspend() } else { task.resume() }
      let isAdopted = course.withLock { course in
        // Without the lock; the state is checked again afterwards, as the task may be suspended or resumed meanwhile.
        guard case .preparing(let isPausedNow) = course, isPausedNow == isPaused else { return false }
        course = .running(task)
        return true
      }
      if isAdopted { return true }
    }
  }

  /// Passes a head on; false when the client no longer waits.
  private func receive(_ head: HTTPResponseHead, _ load: EngineLoad) -> Bool {
    guard !isOver else { return false }
    load.keepCookies(in: head.fields, from: head.url)
    client?.urlProtocol(self, didReceive: HTTPURLResponse.forSession(head), cacheStoragePolicy: .notAllowed)
    return true
  }

  /// Passes a piece of the body on, or gathers it; false when the client no longer waits.
  private func receive(_ piece: [UInt8], _ load: EngineLoad) -> Bool {
    guard !isOver else { return false }
    guard !piece.isEmpty else { return true }
    if load.settings.takesPieces {
      client?.urlProtocol(self, didLoad: Data(piece))
    } else {
      gathered.withLock { $0 += piece }
    }
    return true
  }

  private func finish(_ result: Result<ResourceResponse, ResourceError>, _ load: EngineLoad) {
    let response: ResourceResponse
    switch result {
    case .success(let answer): response = answer
    case .failure(let error):
      // The advice was not satisfied: the answer with the advice is the result.
      guard let answer = error.stop?.response else { return fail(URLError(error)) }
      response = answer
    }
    if !response.isStreamed, !(receive(response.head, load) && receive(response.body, load)) { return }
    guard isLast() else { return }
    let body = gathered.withLock { $0 }
    if !body.isEmpty { client?.urlProtocol(self, didLoad: body) }
    client?.urlProtocolDidFinishLoading(self)
  }

  private func fail(_ error: URLError) {
    guard isLast() else { return }
    client?.urlProtocol(self, didFailWithError: error)
  }

  /// Whether the client no longer waits.
  private var isOver: Bool {
    course.withLock { course in
      if case .over = course { return true }
      return false
    }
  }

  /// Whether the client still waits; it gets one result.
  private func isLast() -> Bool {
    course.withLock { course in
      if case .over = course { return false }
      course = .over
      return true
    }
  }
}

extension PosternURLProtocol {
  /// Returns the error of a `task` that cannot be carried out here, whatever the answer; nil when it can.
  static func unsupported(_ task: URLSessionTask?, _ request: URLRequest) -> URLError? {
    #if canImport(FoundationNetworking)
      // A download task takes the file's location from a property that is Foundation's own: without it a delegate's
      // process crashes (`didFinishDownloadingTo`), that of an awaited download too, and a completion handler gets
      // neither file nor error.
      if let task, !(task is URLSessionDataTask) {
        return URLError(
          .cannotCreateFile,
          detail: "swift-corelibs-foundation takes no file from a URLProtocol: only data and upload tasks go through "
            + "PosternURLProtocol. Use a data task, and write its data to a file")
      }
    #endif
    if task is URLSessionUploadTask, request.httpBody == nil, request.httpBodyStream == nil {
      return URLError(
        .requestBodyStreamExhausted,
        detail: "the body of an upload task must be in its request: see URLRequest.uploading")
    }
    return nil
  }
}
