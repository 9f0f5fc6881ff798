public import AuthEngine
import Foundation
import Support

#if canImport(FoundationNetworking)
  public import FoundationNetworking
#endif

/// Puts the engine behind a `URLSession`: tokens, renewal and step-up for code that knows nothing of them.
///
/// Tell it the `resources`, put it first in a configuration's `protocolClasses`, and the session's requests to these servers are carried
/// out as `ResourceFetcher` carries them out, with its rules, bounds and errors; all others go their usual way. Without a token the
/// request fails instead of going out unauthenticated. What stands here holds for the whole process.
///
/// An answer comes whole: it is bounded by the server's `maxBodyBytes`. Redirects within the server's URLs are followed, all others are
/// the answer. Nothing is cached. `timeoutInterval` bounds the whole fetch. Of a field that comes twice the values stand in one, as
/// `HTTPURLResponse` has them. An upload task's body must be in the request: `URLSession` does not show another to a protocol.
public final class PosternURLProtocol: URLProtocol {
  private enum Course {
    case idle
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

  /// Which of their requests carry tokens, and who decides that one must be renewed; nil: all, by the servers' own rules.
  public static var tokenManagementPolicy: TokenManagementPolicy? {
    get { rules.withLock { $0.tokenManagementPolicy } }
    set { rules.withLock { $0.tokenManagementPolicy = newValue } }
  }

  /// In which of their answers policy advice is looked for, and who satisfies it, where a server has rules for it (`advice`) and a user's
  /// token is used; nil: as the resources' own options say. It never causes a token to be sent.
  public static var authorizationPolicy: AuthorizationPolicy? {
    get { rules.withLock { $0.authorizationPolicy } }
    set { rules.withLock { $0.authorizationPolicy = newValue } }
  }

  /// Whether the request goes through the engine.
  public override class func canInit(with request: URLRequest) -> Bool {
    rules.withLock { $0 }.resource(for: request) != nil
  }

  /// The request as it is.
  public override class func canonicalRequest(for request: URLRequest) -> URLRequest { request }

  /// Begins the fetch.
  public override func startLoading() {
    let rules = Self.rules.withLock { $0 }
    guard let resource = rules.resource(for: request) else {
      return fail(URLError(.unsupportedURL, detail: "no resource covers the URL any more"))
    }
    if task is URLSessionUploadTask, request.httpBody == nil, request.httpBodyStream == nil {
      return fail(URLError(.requestBodyStreamExhausted, detail: "the body of an upload task must be in its request"))
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

  /// Ends the fetch; nothing is said of it any more.
  public override func stopLoading() {
    let before = course.withLock { course in
      let before = course
      course = .over
      return before
    }
    if case .running(let task) = before { task.cancel() }
  }

  /// The largest body that is read from a stream: as much as a message to the sidecar may have.
  private static let maxBodyBytes = 16 << 20

  private func load(_ body: Data?, _ resource: ProtectedResource, _ options: FetchOptions) {
    let message = ResourceRequest(request, body: body)
    let task = NetworkTask(request: message, clock: SystemClock())
    var options = options
    options.task = task
    let isWanted = course.withLock { course in
      guard case .idle = course else { return false }
      course = .running(task)
      return true
    }
    guard isWanted else { return }
    nonisolated(unsafe) let loading = self
    resource.fetcher.fetch(message, from: resource.server, options: options) { result in loading.finish(result) }
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
