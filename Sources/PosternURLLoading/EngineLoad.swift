import AuthEngine
import Foundation
import HTTPMessages
import PosternSupport

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

/// One request of a session as the engine carries it out, by the resource, the policies and the session's settings.
struct EngineLoad: Sendable {
  /// The request, with what the session's configuration adds.
  let request: URLRequest
  let fetcher: ResourceFetcher
  /// The server, whose time limits are the session's.
  private(set) var server: ResourceServer
  private(set) var options: FetchOptions
  let settings: SessionSettings
  /// Whether the body is taken while it arrives, of any size. Else a delegate may judge it, or it is decrypted as a whole.
  let isStreamed: Bool
  private let replacesAuthorization: Bool

  init(_ request: URLRequest, of task: URLSessionTask?, to resource: ProtectedResource, by rules: LoadingRules) {
    var options = rules.options(for: resource)
    var server = resource.server
    settings = SessionSettings(of: task)
    fetcher = resource.fetcher
    // A limit of the resource's options bounds the whole load, and takes precedence.
    if options.timeout == nil {
      let silence = settings.silence(for: request)
      if server.timeout != silence { server.timeout = silence }
      if server.idleTimeout != silence { server.idleTimeout = silence }
    }
    if let time = settings.wholeTime {
      options.scope = options.scope.until(Deadline(in: time, on: fetcher.clock))
    }
    self.request = settings.applied(to: request)
    replacesAuthorization = rules.replacesAuthorization(of: request, to: server, options)
    isStreamed =
      !rules.mayJudgeBody(of: request, options) && server.payloadEncryption?.decryptsAnswers != true
      && server.advice?.inSuccess != true
    self.server = server
    self.options = options
  }

  /// The same with a body that is read while it is sent. Its length is not in the server's hands, so that it has the
  /// longest time.
  func uploading(_ body: StreamedBody) -> EngineLoad {
    var load = self
    load.options.supply = body.supply(length: request.value(forHTTPHeaderField: "Content-Length").flatMap { Int64($0) })
    if options.timeout == nil { load.server.timeout = ResourceServer.maxTimeout }
    return load
  }

  /// The engine's request, with `body`.
  func message(with body: Data?) -> ResourceRequest {
    var request = request
    if replacesAuthorization { request.setValue(nil, forHTTPHeaderField: "Authorization") }
    return ResourceRequest(request, body: body)
  }

  /// Keeps the cookies of a response where the session keeps any.
  func keepCookies(in fields: HTTPFields, from url: HTTPURL) {
    settings.keepCookies(in: fields, from: url, to: request, without: server.reservedCookies)
  }
}
