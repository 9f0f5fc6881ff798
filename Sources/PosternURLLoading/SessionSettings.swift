import AuthEngine
import Foundation
import HTTPMessages
import PosternSupport

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

/// The configuration of a task's session, applied as Foundation applies it to the requests that it loads itself.
///
/// swift-corelibs-foundation gives a protocol the bare request, and shows it the task's session by reflection only. On
/// other platforms the request has the configuration's fields already.
struct SessionSettings: Sendable {
  private let configuration: URLSessionConfiguration?
  /// Whether the session has a use for each piece of a body; else it would keep the last one only.
  let takesPieces: Bool

  /// The settings of the session of `task`.
  init(of task: URLSessionTask?) {
    #if canImport(FoundationNetworking)
      let session = task.flatMap { Self.member("session", of: $0) } as? URLSession
      configuration = session?.configuration
      takesPieces = task.map { Self.hasNoHandler($0, in: session) } ?? false
    #else
      configuration = nil
      takesPieces = true
    #endif
  }

  #if canImport(FoundationNetworking)
    /// The stored property `name` of `object`, its classes' own or inherited.
    private static func member(_ name: String, of object: Any) -> Any? {
      var mirror: Mirror? = Mirror(reflecting: object)
      while let current = mirror {
        if let value = current.descendant(name) { return value }
        mirror = current.superclassMirror
      }
      return nil
    }

    /// Whether nothing but a delegate has the task's body: Foundation gives a completion handler the last piece.
    private static func hasNoHandler(_ task: URLSessionTask, in session: URLSession?) -> Bool {
      let registry = session.flatMap { member("taskRegistry", of: $0) }
      let behaviours = registry.flatMap { member("behaviours", of: $0) } as? [Int: Any]
      return behaviours?[task.taskIdentifier].map { "\($0)" == "callDelegate" } ?? false
    }
  #endif

  /// `request` with the configuration's additional fields, where it has none of that name. Foundation has put the
  /// cookies of the configuration's storage into it.
  func applied(to request: URLRequest) -> URLRequest {
    var request = request
    for (name, value) in configuration?.httpAdditionalHeaders ?? [:] {
      guard let name = name as? String, let value = value as? String else { continue }
      if request.value(forHTTPHeaderField: name) == nil { request.setValue(value, forHTTPHeaderField: name) }
    }
    return request
  }

  /// Keeps the cookies that a response from `url` to `request` sets, but those of the names in `reserved`.
  func keepCookies(in fields: HTTPFields, from url: HTTPURL, to request: URLRequest, without reserved: Set<String>) {
    guard let storage = configuration?.httpCookieStorage, configuration?.httpCookieAcceptPolicy != .never,
      request.httpShouldHandleCookies
    else { return }
    let url = URL(url)
    // Line by line: joined they could not be told apart at the commas of their dates.
    let cookies = fields.values(of: "Set-Cookie").flatMap {
      HTTPCookie.cookies(withResponseHeaderFields: ["Set-Cookie": $0], for: url)
    }
    storage.setCookies(
      cookies.filter { !reserved.contains($0.name) }, for: url, mainDocumentURL: request.mainDocumentURL)
  }

  /// The longest silence of the server: the request's own, or the configuration's where the request has Foundation's
  /// default.
  func silence(for request: URLRequest) -> Duration {
    let usual = 60.0
    let seconds =
      request.timeoutInterval == usual
      ? configuration?.timeoutIntervalForRequest ?? usual : request.timeoutInterval
    return .bounding(seconds)
  }

  /// The time that all of a load may take; nil: without a bound.
  var wholeTime: Duration? {
    guard let seconds = configuration?.timeoutIntervalForResource, seconds > 0, seconds < 1e9 else { return nil }
    return .seconds(seconds)
  }
}
